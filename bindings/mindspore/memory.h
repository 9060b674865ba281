// Memory that a tensor here and a tensor of MindSpore share: whose it is, and the other one's
// object.
#pragma once
#include "bindings/common.h"
#include "core/tensor/tensor.h"

namespace msa::py {

// The same memory and layout as a cpu tensor, with a history of its own.
Tensor on_cpu(const Tensor& t);
// A cpu tensor as one of `device`, over the same memory.
Tensor on_shared(const Tensor& cpu, Device device);

// The MindSpore tensor over a tensor's memory, made by `make(cpu tensor)` and, if `keep`, kept with
// the memory where nothing but these two hold it. New reference.
Owned handle_of(const Tensor& t, PyObject* make, bool keep);

// What the elements of a MindSpore tensor are called here.
struct DTypeNames {
  Owned from_dtype[kDTypes];  // MindSpore's, null where it has none
  DType ours(PyObject* theirs) const;
};
// A tensor of `device` that keeps a MindSpore tensor and lives in its memory.
Tensor taken(PyObject* tensor, Device device, const DTypeNames& names);
// The same where it is known how the elements lie and what they are.
Tensor taken_as(PyObject* tensor, Device device, const Layout& layout, DType dtype);

}  // namespace msa::py
