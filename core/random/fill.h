// Fills contiguous memory from the generator, in the order and with the roundings of PyTorch's CPU
// kernels.
#pragma once

#include <cstdint>

#include "core/random/generator.h"

namespace msa::random {

// T: f16, bf16, float or double.
template <class T>
void fill_uniform(Generator& gen, T* out, int64_t count, double from, double to);

// Normals in blocks of 16, for contiguous outputs of at least 16 elements; PyTorch draws smaller
// and strided ones one at a time (`normal` in distributions.h), which gives another stream.
template <class T>
void fill_normal_blocks(Generator& gen, T* out, int64_t count, double mean, double std);

// T: any real dtype. 1 with probability p, else 0.
template <class T>
void fill_bernoulli(Generator& gen, T* out, int64_t count, double p);

}  // namespace msa::random
