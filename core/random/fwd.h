// Declares the random generator for those who only pass it on.
#pragma once
#include "core/base/ref.h"

namespace msa {
struct Generator;                 // core/random/generator.h, counted
using OptGenerator = Generator*;  // borrowed; null: the default generator
}  // namespace msa
