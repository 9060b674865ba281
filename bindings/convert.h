// Between Python's numbers and sequences and the core's: exact types first, since those are the
// rule.
#pragma once
#include <vector>

#include "bindings/common.h"
#include "core/tensor/tensor.h"

namespace msa::py {

// Each returns false, with no exception set, when `o` is of another type. A number that does not
// fit raises. NumPy's scalars count as numbers, 0-d tensors as well where PyTorch accepts them.
bool to_scalar(PyObject* o, Scalar& out);
bool to_int(PyObject* o, int64_t& out);
bool to_list_int(PyObject* o, int64_t& out);  // also a tensor of one integer, of any shape
bool to_real(PyObject* o, double& out);
bool to_bool(PyObject* o, bool& out);
bool to_dims(PyObject* o, Dims& out);  // a list or tuple of ints
bool to_dims(PyObject* const* items, Py_ssize_t n, Dims& out);
bool to_reals(PyObject* o, std::vector<double>& out);

// numpy.generic or numpy.ndarray; both false while NumPy is not loaded.
bool is_numpy_scalar(PyObject* o);
bool is_numpy_array(PyObject* o);

PyObject* scalar_object(const Scalar& s);

// The one element of a tensor.
Scalar item(const Tensor& t);
PyObject* item_object(const Tensor& t);
// The element at `p`, of dtype t, as a Python number.
PyObject* element_object(const void* p, DType t);
// The same values in host memory: the tensor itself when it already is there.
Tensor on_host(const Tensor& t);

}  // namespace msa::py
