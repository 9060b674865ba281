// Process-wide settings seen from Python.
#pragma once

namespace msa::py {
void init_defaults();
}
