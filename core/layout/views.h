// Views as pure functions: the layout of what an operator such as `transpose` returns.
#pragma once
#include <vector>

#include "core/dispatch/options.h"

namespace msa::layouts {

Layout view(const Layout& input, const Dims& size);
Layout expand(const Layout& input, const Dims& size);
Layout permute(const Layout& input, const Dims& dims);
Layout transpose(const Layout& input, int64_t dim0, int64_t dim1);
Layout t(const Layout& input);
Layout alias(const Layout& input);
Layout unsqueeze(const Layout& input, int64_t dim);
Layout squeeze(const Layout& input);
Layout squeeze_dim(const Layout& input, int64_t dim);
Layout squeeze_dims(const Layout& input, const Dims& dim);

Layout slice(const Layout& input, int64_t dim, OptInt start, OptInt end, int64_t step);
Layout select(const Layout& input, int64_t dim, int64_t index);
Layout narrow(const Layout& input, int64_t dim, int64_t start, int64_t length);
Layout diagonal(const Layout& input, int64_t offset, int64_t dim1, int64_t dim2);
Layout unfold(const Layout& input, int64_t dimension, int64_t size, int64_t step);
// Whether it stays inside the storage is checked where the tensor is made, see `alias`.
Layout as_strided(const Layout& input, const Dims& size, const Dims& stride, OptInt storage_offset);

// The parts of complex elements as a last dimension, and back; layouts count in the new elements.
Layout view_as_real(const Layout& input);
Layout view_as_complex(const Layout& input);

std::vector<Layout> split(const Layout& input, int64_t split_size, int64_t dim);
std::vector<Layout> split_with_sizes(const Layout& input, const Dims& split_sizes, int64_t dim);
std::vector<Layout> unbind(const Layout& input, int64_t dim);

}  // namespace msa::layouts
