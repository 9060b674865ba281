// Optional arguments as operators see them, and small value types of schemas.
#pragma once
#include <optional>
#include <string_view>

#include "core/random/fwd.h"
#include "core/tensor/tensor.h"

namespace msa {

using OptScalar = std::optional<Scalar>;
using OptInt = std::optional<int64_t>;
using OptFloat = std::optional<double>;
using OptBool = std::optional<bool>;
using OptDType = std::optional<DType>;
using OptDevice = std::optional<Device>;
using OptDims = std::optional<Dims>;
using OptFormat = std::optional<MemoryFormat>;
using OptStr = std::optional<std::string_view>;
using OptFloats = std::optional<std::vector<double>>;

// Set by functions that make tensors: dtype and device given or the defaults.
Device default_device();
void set_default_device(Device d);

}  // namespace msa
