// The tensor: a counted view of a storage, with autograd data only where it is needed.
#pragma once
#include <vector>

#include "core/base/error.h"
#include "core/base/free_list.h"
#include "core/base/ref.h"
#include "core/base/small_vec.h"
#include "core/dtype/dtype.h"
#include "core/dtype/scalar.h"
#include "core/layout/layout.h"
#include "core/storage/storage.h"

namespace msa {

class Tensor;
struct AutogradMeta;  // core/autograd/meta.h

// A version of its own for tensors that share memory but not history (`.data`).
struct VersionCounter : Counted {
  MSA_FREE_LISTED
  uint32_t value = 0;
  static void destroy(VersionCounter* v) { delete v; }
};

struct TensorImpl : Counted {
  MSA_FREE_LISTED
  DType dtype = DType::F32;
  bool wrapped_number = false;  // made from a Python number: weak in promotion
  bool contiguous = true;       // kept in step with sizes and strides
  bool inference = false;       // made under inference_mode
  int64_t numel = 0;
  int64_t offset = 0;  // elements
  Dims sizes, strides;
  Ref<Storage> storage;
  Ref<VersionCounter> own_version;  // null: the storage's
  AutogradMeta* meta = nullptr;     // owned; null: no gradient, no history, not a tracked view
  void* python = nullptr;           // the Python object, see bindings/tensor
  bool owns_python = false;         // the object outlived its last Python reference

  static void destroy(TensorImpl* t);  // frees deep graphs without recursion
};

// Called by `destroy` when a tensor that owns its Python object dies; set by the bindings.
extern void (*release_python)(TensorImpl*);

class Tensor {
 public:
  Tensor() = default;  // undefined
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* operator->() const { return impl_.get(); }
  Ref<TensorImpl>& ref() { return impl_; }

  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->storage->device; }
  const Dims& sizes() const { return impl_->sizes; }
  const Dims& strides() const { return impl_->strides; }
  int64_t dim() const { return static_cast<int64_t>(impl_->sizes.size()); }
  int64_t size(int64_t d) const { return impl_->sizes[wrap_dim(d, dim())]; }
  int64_t stride(int64_t d) const { return impl_->strides[wrap_dim(d, dim())]; }
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  size_t item_bytes() const { return size_bytes(impl_->dtype); }
  bool is_contiguous() const { return impl_->contiguous; }
  bool is_contiguous(MemoryFormat format) const;
  Layout layout() const { return {impl_->sizes, impl_->strides, impl_->offset}; }

  void* data() const {
    return static_cast<char*>(impl_->storage->data) + impl_->offset * item_bytes();
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(data());
  }

  uint32_t version() const {
    return impl_->own_version ? impl_->own_version->value : impl_->storage->version;
  }
  void bump_version() const {
    ++(impl_->own_version ? impl_->own_version->value : impl_->storage->version);
  }
  bool same_storage(const Tensor& o) const { return impl_->storage == o.impl_->storage; }

  // Autograd's view of the tensor (core/autograd/meta.h has the rest).
  bool requires_grad() const;  // set on a leaf, or has a grad_fn
  bool is_leaf() const;

 private:
  Ref<TensorImpl> impl_;
};

using TensorList = std::vector<Tensor>;
using TensorsView = std::span<const Tensor>;

// New tensors; contents undefined. `strides` must be dense for `sizes`.
Tensor empty(DimsView sizes, DType dtype, Device device = {});
Tensor empty_strided(DimsView sizes, DimsView strides, DType dtype, Device device = {});
Tensor scalar_tensor(const Scalar& value, DType dtype, Device device = {});
// 0-d and weak in promotion: bool, int64, float64 or complex128, taken for the default float there.
Tensor wrapped_number(const Scalar& value);
Tensor from_storage(Ref<Storage> storage, const Layout& layout, DType dtype);
// An alias with another layout, sharing storage and version, outside autograd.
Tensor alias(const Tensor& base, const Layout& layout);
Tensor alias(const Tensor& base, const Layout& layout, DType dtype);
// Changes sizes and strides in place (resize_, set_, out= of another shape).
void set_layout(TensorImpl& impl, const Layout& layout);
void resize_output(std::string_view op, Tensor& out, DimsView sizes);

namespace detail {
void append(std::string& s, const Tensor& t);  // "float32 (2, 3)"
}

}  // namespace msa
