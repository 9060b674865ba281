// Indexing: ints, slices, None, Ellipsis and bools become a view; tensors and lists an index call.
#include "bindings/indexing.h"

#include <algorithm>

#include "bindings/call.h"
#include "bindings/convert.h"
#include "bindings/tensor/data.h"
#include "bindings/tensor/tensor.h"
#include "bindings/torch_function.h"
#include "core/autograd/meta.h"
#include "core/sparse/sparse.h"
#include "core/transforms/batched.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_index.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::py {

namespace {

// An index, its entries one for each position between the brackets.
struct Entries {
  PyObject* const* items;
  Py_ssize_t n;
};

// A list of numbers is one index; a short one that holds slices, tensors or sequences is a tuple of
// indices, as NumPy once read it.
bool stands_for_tuple(PyObject* list) {
  if (Py_SIZE(list) >= 32) return false;
  for (Py_ssize_t i = 0; i < Py_SIZE(list); ++i) {
    PyObject* o = PyList_GET_ITEM(list, i);
    if (PySlice_Check(o) || o == Py_None || o == Py_Ellipsis || is_tensor(o) || PySequence_Check(o))
      return true;
  }
  return false;
}

Entries entries_of(PyObject* const& index) {
  if (PyTuple_Check(index) || (PyList_Check(index) && stands_for_tuple(index)))
    return {PySequence_Fast_ITEMS(index), Py_SIZE(index)};
  return {&index, 1};
}

bool is_int(PyObject* o) { return PyLong_Check(o) && !PyBool_Check(o); }

// A 0-d integer tensor is an int where no tensor index is wanted for autograd's or capture's sake.
bool is_int_tensor(PyObject* o) {
  return is_tensor(o) && tensor_of(o).dim() == 0 && is_integral(tensor_of(o).dtype()) &&
         tensor_of(o).dtype() != DType::Bool;
}

// How many dimensions of the tensor an entry uses up.
int64_t dims_used(PyObject* o) {
  if (PyLong_CheckExact(o) || PySlice_Check(o)) return 1;
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
  if (is_tensor(o) && (tensor_of(o).dtype() == DType::Bool || tensor_of(o).dtype() == DType::U8))
    return tensor_of(o).dim();
  return 1;
}

int64_t slice_number(PyObject* o, int64_t missing) {
  if (o == Py_None) return missing;
  int64_t v;
  if (!PyLong_CheckExact(o) && to_int(o, v)) return v;
  // Whatever Python takes for a list's slice: a tensor of one element in any number of dimensions.
  MSA_REQUIRE(PyIndex_Check(o), Type,
              "slice indices must be integers or None or have an __index__ method");
  const Owned number = checked(PyNumber_Index(o));
  int overflow;
  v = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  return overflow ? (overflow > 0 ? INT64_MAX : INT64_MIN) : v;
}

struct Range {
  int64_t start, stop, step;
};

Range slice_range(PyObject* o) {
  auto* s = reinterpret_cast<PySliceObject*>(o);
  int64_t step = slice_number(s->step, 1);
  MSA_REQUIRE(step != 0, Value, "slice step cannot be zero");
  MSA_REQUIRE(step > 0, Value, "slice step must be positive: got ", step,
              "; use flip() to reverse");
  return {slice_number(s->start, 0), slice_number(s->stop, INT64_MAX), step};
}

int64_t clamp_bound(int64_t v, int64_t size) {
  if (v < 0) v += size;
  return v < 0 ? 0 : v > size ? size : v;
}

int64_t checked_index(int64_t i, int64_t dim, int64_t size) {
  MSA_REQUIRE(i >= -size && i < size, Index, "index ", i, " is out of bounds for dimension ", dim,
              " with size ", size);
  return i < 0 ? i + size : i;
}

// --- the basic part
// -----------------------------------------------------------------------------------

// Applies basic entries one after the other, either to a layout alone (fast: one view at the end),
// or as operators when the steps must be recorded or seen by layers.
class Cursor {
 public:
  explicit Cursor(const Tensor& t) : tensor_(t) {
    by_layout_ = !thread_state.layers_active && !must_record(t) &&
                 (t.device().is_cpu() || t.device().is_meta());
    if (by_layout_) layout_ = t.layout();
  }

  int64_t size(size_t d) const { return by_layout_ ? layout_.sizes[d] : tensor_.sizes()[d]; }
  size_t ndim() const { return by_layout_ ? layout_.sizes.size() : tensor_.sizes().size(); }

  void select(int64_t index) {
    MSA_REQUIRE(ndim() > 0, Index,
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                "`tensor.item<T>()` in C++ to convert "
                "a 0-dim tensor to a number");
    int64_t i = checked_index(index, static_cast<int64_t>(dim_), size(dim_));
    if (by_layout_) {
      layout_.offset += i * layout_.strides[dim_];
      layout_.sizes.erase(dim_);
      layout_.strides.erase(dim_);
    } else {
      tensor_ = ops::select(tensor_, static_cast<int64_t>(dim_), i);
    }
    changed_ = true;
  }

  void slice(const Range& r) {
    int64_t n = size(dim_), start = clamp_bound(r.start, n),
            stop = std::max(start, clamp_bound(r.stop, n));
    bool whole = start == 0 && stop == n && r.step == 1;
    if (!whole && by_layout_) {
      layout_.offset += start * layout_.strides[dim_];
      layout_.sizes[dim_] = (stop - start + r.step - 1) / r.step;
      layout_.strides[dim_] *= r.step;
    } else if (!whole) {
      tensor_ = ops::slice(tensor_, static_cast<int64_t>(dim_), start, stop, r.step);
    }
    changed_ |= !whole;
    ++dim_;
  }

  void insert_dim() {
    if (by_layout_) {
      int64_t stride = dim_ < ndim() ? layout_.sizes[dim_] * layout_.strides[dim_] : 1;
      layout_.sizes.insert(dim_, 1);
      layout_.strides.insert(dim_, stride);
    } else {
      tensor_ = ops::unsqueeze(tensor_, static_cast<int64_t>(dim_));
    }
    changed_ = true;
  }
  void skip(int64_t n) { dim_ += static_cast<size_t>(n); }
  size_t dim() const { return dim_; }

  // The view so far. Indexing with nothing that changes it still gives a new view.
  Tensor view() {
    if (by_layout_) return make_view(tensor_, layout_);
    if (changed_) return tensor_;
    return whole_alias();
  }

 private:
  Tensor whole_alias() {
    if (ndim() == 0) return ops::view(tensor_, Dims{});
    return ops::slice(tensor_, 0, 0, size(0), 1);
  }
  Tensor tensor_;
  Layout layout_;
  size_t dim_ = 0;
  bool by_layout_, changed_ = false;
};

// --- tensor indices
// -------------------------------------------------------------------------------------

// The indices of an advanced index by dimension of the basic part's view; undefined: not indexed.
using Indices = TensorList;

void put(Indices& indices, size_t dim, Tensor index) {
  if (indices.size() <= dim) indices.resize(dim + 1);
  indices[dim] = std::move(index);
}

Tensor bool_tensor(bool v) { return scalar_tensor(Scalar(v), DType::Bool); }

Tensor index_from(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o);
  bool sequence = PyList_Check(o) || PyTuple_Check(o) || is_numpy_array(o) || PySequence_Check(o);
  MSA_REQUIRE(sequence, Index,
              "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
              "valid indices (got ",
              Py_TYPE(o)->tp_name, ")");
  bool empty = PySequence_Check(o) && PySequence_Size(o) == 0;
  return tensor_from_data(o, empty && !is_numpy_array(o) ? OptDType(DType::I64) : OptDType(), {});
}

void check_mask(const Tensor& mask, const Cursor& at) {
  for (size_t d = 0; d < static_cast<size_t>(mask.dim()); ++d) {
    MSA_REQUIRE(mask.sizes()[d] == at.size(at.dim() + d), Index, "The shape of the mask ",
                DimsView(mask.sizes()), " at index ", d,
                " does not match the shape of the indexed tensor: its size there is ",
                at.size(at.dim() + d));
  }
}

void add_tensor_index(Cursor& at, Indices& indices, const Tensor& index) {
  DType t = index.dtype();
  MSA_REQUIRE(is_integral(t) && !is_barebones_unsigned(t) && t != DType::I16 && t != DType::I8,
              Index, "tensors used as indices must be long, int, byte or bool tensors");
  bool mask = t == DType::Bool || t == DType::U8;
  if (mask && index.dim() == 0) at.insert_dim();  // a single truth value keeps all or nothing
  if (mask && index.dim() > 0) check_mask(index, at);
  MSA_REQUIRE(mask || at.dim() < at.ndim(), Index, "too many indices for tensor of dimension ",
              at.ndim());
  put(indices, at.dim(), index);
  at.skip(mask ? std::max<int64_t>(index.dim(), 1) : 1);
}

void add_truth(Cursor& at, Indices& indices, bool v) {
  at.insert_dim();
  put(indices, at.dim(), bool_tensor(v));
  at.skip(1);
}

// One entry between the brackets.
void apply_entry(Cursor& at, Indices& indices, PyObject* o, int64_t ellipsis_dims) {
  int64_t i;
  if (is_int(o)) {
    MSA_REQUIRE(to_int(o, i), Index, "not an index");
    at.select(i);
  } else if (PySlice_Check(o)) {
    MSA_REQUIRE(at.ndim() > 0, Index, "slice() cannot be applied to a 0-dim tensor.");
    at.slice(slice_range(o));
  } else if (o == Py_Ellipsis) {
    at.skip(ellipsis_dims);
  } else if (o == Py_None) {
    at.insert_dim();
    at.skip(1);
  } else if (PyBool_Check(o)) {
    add_truth(at, indices, o == Py_True);
  } else if (is_int_tensor(o) && tensor_of(o).device().is_cpu()) {
    at.select(item(tensor_of(o)).to_int());
  } else if (is_numpy_scalar(o) && to_int(o, i)) {
    at.select(i);
  } else if (!is_tensor(o) && !PySequence_Check(o) && to_int(o, i)) {
    at.select(i);
  } else {
    add_tensor_index(at, indices, index_from(o));
  }
}

bool is_mask(const Tensor& index) {
  return index.defined() && (index.dtype() == DType::Bool || index.dtype() == DType::U8);
}

// Indices stand at the dimensions they use, but the operators want one entry for a mask, whatever
// its number of dimensions.
void drop_mask_room(Indices& indices) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!is_mask(indices[i])) continue;
    size_t room = static_cast<size_t>(std::max<int64_t>(indices[i].dim() - 1, 0));
    auto next = indices.begin() + static_cast<int64_t>(i) + 1;
    indices.erase(next, next + static_cast<int64_t>(std::min(room, indices.size() - i - 1)));
  }
}

Indices apply_entries(Cursor& at, const Entries& entries) {
  int64_t used = 0;
  for (Py_ssize_t i = 0; i < entries.n; ++i) used += dims_used(entries.items[i]);
  auto ndim = static_cast<int64_t>(at.ndim());
  MSA_REQUIRE(used <= ndim || ndim == 0, Index, "too many indices for tensor of dimension ", ndim);
  Indices indices;
  for (Py_ssize_t i = 0; i < entries.n; ++i)
    apply_entry(at, indices, entries.items[i], ndim - used);
  drop_mask_room(indices);
  return indices;
}

// --- __torch_function__
// ---------------------------------------------------------------------------------
bool any_overrides(const Entries& entries) {
  for (Py_ssize_t i = 0; i < entries.n; ++i)
    if (!is_plain_tensor(entries.items[i]) && overrides_torch_function(entries.items[i]))
      return true;
  return false;
}

PyObject* call_method_override(const char* name, PyObject* self,
                               std::initializer_list<PyObject*> args) {
  Owned method = checked(PyObject_GetAttrString(as_object(tensor_type), name));
  return dispatch_torch_function(
      method.get(), {self, args.begin(), static_cast<Py_ssize_t>(args.size()), nullptr});
}

bool must_hand_over(PyObject* self, const Entries& entries) {
  return modes_active() || (!is_plain_tensor(self) && overrides_torch_function(self)) ||
         any_overrides(entries);
}

// One value under one mask fills, and is converted; otherwise the dtypes must match.
bool fills(const Indices& indices, const Tensor& values) {
  auto defined =
      std::count_if(indices.begin(), indices.end(), [](const Tensor& t) { return t.defined(); });
  return values.numel() == 1 && defined == 1 &&
         std::any_of(indices.begin(), indices.end(), is_mask);
}

// Under vmap a mask has other places for each example: one value goes there without looking.
bool put_under_mask(Tensor& t, const Indices& indices, const Tensor& values) {
  if (indices.size() != 1 || values.numel() != 1 || !is_mask(indices[0]) || !is_batched(indices[0]))
    return false;
  Tensor mask = indices[0];
  while (mask.dim() < t.dim()) mask = ops::unsqueeze(mask, -1);
  ops::masked_fill_(t, ops::to_dtype(mask, DType::Bool),
                    ops::_to_copy(ops::reshape(values, {}), t.dtype()));
  return true;
}

void put_elements(Tensor& t, const Indices& indices, const Tensor& values) {
  if (put_under_mask(t, indices, values)) return;
  if (values.dtype() != t.dtype() && fills(indices, values))
    ops::index_put_(t, indices, ops::_to_copy(values, t.dtype()));
  else
    ops::index_put_(t, indices, values);
}

// --- assignment
// -------------------------------------------------------------------------------------------

Tensor value_tensor(PyObject* value, const Tensor& target) {
  if (is_tensor(value)) return tensor_of(value);
  Scalar number;
  if (to_scalar(value, number)) return scalar_tensor(number, target.dtype(), true_device(target));
  MSA_REQUIRE(is_numpy_array(value), Type, "can't assign a ", Py_TYPE(value)->tp_name,
              " to a torch.", info(target.dtype()).name, " tensor");
  return tensor_from_data(value, target.dtype(), true_device(target));
}

// Leading ones of a value that has more dimensions than its place are dropped, as NumPy does.
Tensor without_leading_ones(const Tensor& value, size_t ndim) {
  DimsView sizes = value.sizes();
  size_t first = 0;
  while (sizes.size() - first > ndim && sizes[first] == 1) ++first;
  return first ? ops::view(value, Dims(sizes.subspan(first))) : value;
}

void assign(Tensor place, const Tensor& value) {
  if (value.dim() == 0 && value.device().is_cpu() && !must_record(place, value) &&
      !thread_state.layers_active) {
    ops::fill_(place, load_scalar(value.dtype(), value.data()));
    return;
  }
  ops::copy_(place, without_leading_ones(value, place.sizes().size()));
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&] {
    Entries entries = entries_of(index);
    if (__builtin_expect(must_hand_over(self, entries), 0))
      return call_method_override("__getitem__", self, {index});
    Cursor at(tensor_of(self));
    Indices indices = apply_entries(at, entries);
    Tensor view = at.view();
    return wrap(indices.empty() ? std::move(view) : ops::index(view, indices));
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded([&] {
    MSA_REQUIRE(value, Type, "Tensor does not support deleting items");
    Entries entries = entries_of(index);
    bool value_overrides = !is_plain_tensor(value) && overrides_torch_function(value);
    if (__builtin_expect(value_overrides || must_hand_over(self, entries), 0)) {
      Owned(call_method_override("__setitem__", self, {index, value}));
      return PyErr_Occurred() ? -1 : 0;
    }
    Tensor& target = tensor_of(self);
    MSA_REQUIRE(!is_sparse(target), Type, "Cannot assign to a sparse tensor");
    Cursor at(target);
    Indices indices = apply_entries(at, entries);
    Tensor view = at.view();
    Tensor source = value_tensor(value, target);
    if (indices.empty())
      assign(view, source);
    else
      put_elements(view, indices, source);
    return 0;
  });
}

}  // namespace msa::py
