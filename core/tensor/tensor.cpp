// Making, aliasing, resizing and freeing tensors.
#include "core/tensor/tensor.h"

#include <algorithm>

#include "core/autograd/meta.h"
#include "core/base/warn.h"
#include "core/storage/host_memory.h"

namespace msa {

void (*release_python)(TensorImpl*) = nullptr;

namespace {

int64_t checked_numel(DimsView sizes) {
  int64_t numel = 1;
  bool overflow = false;
  for (int64_t s : sizes) {
    MSA_REQUIRE(s >= 0, Runtime, "Trying to create tensor with negative dimension ", s, ": ",
                sizes);
    overflow |= __builtin_mul_overflow(numel, s, &numel);
  }
  MSA_REQUIRE(!overflow, Runtime, "Storage size calculation overflowed with sizes=", sizes);
  return numel;
}

// The elements from the storage's start that a layout reaches.
int64_t extent(const Layout& layout) {
  int64_t last = layout.offset;
  bool overflow = false;
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    int64_t n;
    if (layout.sizes[d] == 0) return 0;
    overflow |= __builtin_mul_overflow(layout.sizes[d] - 1, layout.strides[d], &n);
    overflow |= __builtin_add_overflow(last, n, &last);
  }
  int64_t limit = INT64_MAX / 16 - 1;  // so that the bytes fit too, whatever the dtype
  MSA_REQUIRE(!overflow && last <= limit, Runtime,
              "Storage size calculation overflowed with sizes=", layout.sizes,
              " and strides=", layout.strides);
  return last + 1;
}

void check_bounds(const Storage& storage, const Layout& layout, DType dtype) {
  MSA_REQUIRE(layout.offset >= 0, Runtime, "Tensor: invalid storage offset ", layout.offset);
  size_t needed = static_cast<size_t>(extent(layout)) * size_bytes(dtype);
  MSA_REQUIRE(needed <= storage.bytes, Runtime, "setStorage: sizes ", layout.sizes, ", strides ",
              layout.strides, ", storage offset ", layout.offset, ", and itemsize ",
              size_bytes(dtype), " requiring a storage size of ", needed,
              " are out of bounds for storage of size ", storage.bytes);
}

void put_layout(TensorImpl& t, const Layout& layout) {
  t.numel = checked_numel(layout.sizes);
  t.sizes = layout.sizes;
  t.strides = layout.strides;
  t.offset = layout.offset;
  t.contiguous = is_contiguous(t.sizes, t.strides);
}

Ref<TensorImpl> new_impl(DType dtype) {
  Ref<TensorImpl> t(new TensorImpl);
  t->dtype = dtype;
  t->inference = thread_state.inference_mode;
  return t;
}

void free_impl(TensorImpl* t) {
  delete t->meta;
  delete t;
}

}  // namespace

void TensorImpl::destroy(TensorImpl* t) {
  if (t->owns_python) {  // it passes to its Python object, whose end calls this again
    release_python(t);
    return;
  }
  if (!t->meta) {
    delete t;
    return;
  }
  // What hangs on autograd data may end more tensors (a chain of .grad): they wait for their turn.
  static std::vector<TensorImpl*>& waiting = *new std::vector<TensorImpl*>;
  static bool running = false;
  if (running) {
    waiting.push_back(t);
    return;
  }
  running = true;
  free_impl(t);
  while (!waiting.empty()) {
    t = waiting.back();
    waiting.pop_back();
    free_impl(t);
  }
  running = false;
}

bool Tensor::is_contiguous(MemoryFormat format) const {
  switch (format) {
    case MemoryFormat::Contiguous:
      return impl_->contiguous;
    case MemoryFormat::Preserve:
      return true;
    case MemoryFormat::ChannelsLast:
      return dim() == 4 && is_channels_last(impl_->sizes, impl_->strides);
    case MemoryFormat::ChannelsLast3d:
      return dim() == 5 && is_channels_last(impl_->sizes, impl_->strides);
  }
  __builtin_unreachable();
}

bool Tensor::requires_grad() const {
  const AutogradMeta* meta = impl_->meta;
  if (!meta) return false;
  if (meta->requires_grad || meta->grad_fn) return true;
  return meta->base &&
         Tensor(meta->base).requires_grad();  // the base got its history after the view
}

bool Tensor::is_leaf() const { return !impl_->meta || !grad_fn(*this); }

Tensor empty(DimsView sizes, DType dtype, Device device) {
  Ref<TensorImpl> t = new_impl(dtype);
  t->numel = checked_numel(sizes);
  t->sizes = sizes;
  t->strides = contiguous_strides(sizes);
  size_t bytes;
  bool overflow = __builtin_mul_overflow(static_cast<size_t>(t->numel), size_bytes(dtype), &bytes);
  MSA_REQUIRE(!overflow, Runtime, "Storage size calculation overflowed with sizes=", sizes);
  t->storage = Storage::make(bytes, device);
  return Tensor(std::move(t));
}

Tensor empty_strided(DimsView sizes, DimsView strides, DType dtype, Device device) {
  Ref<TensorImpl> t = new_impl(dtype);
  put_layout(*t, {sizes, strides, 0});
  t->storage =
      Storage::make(static_cast<size_t>(extent({sizes, strides, 0})) * size_bytes(dtype), device);
  return Tensor(std::move(t));
}

Tensor scalar_tensor(const Scalar& value, DType dtype, Device device) {
  device = placed(device);
  Tensor t = empty({}, dtype, device);
  if (in_host_memory(device)) store_scalar(value, dtype, t.data());
  return t;
}

Tensor wrapped_number(const Scalar& value) {
  // Kept in full precision: 0.1 times a float64 tensor must not have been a float32 on its way.
  static constexpr DType kWidest[] = {DType::Bool, DType::I64, DType::F64, DType::C128};
  Tensor t = scalar_tensor(value, kWidest[static_cast<int>(value.kind())]);
  t->wrapped_number = true;
  return t;
}

Tensor from_storage(Ref<Storage> storage, const Layout& layout, DType dtype) {
  Ref<TensorImpl> t = new_impl(dtype);
  put_layout(*t, layout);
  check_bounds(*storage, layout, dtype);
  t->storage = std::move(storage);
  return Tensor(std::move(t));
}

Tensor alias(const Tensor& base, const Layout& layout, DType dtype) {
  Tensor t = from_storage(base->storage, layout, dtype);
  t->own_version = base->own_version;
  t->inference = base->inference;
  return t;
}

Tensor alias(const Tensor& base, const Layout& layout) { return alias(base, layout, base.dtype()); }

void set_layout(TensorImpl& impl, const Layout& layout) {
  MSA_REQUIRE(
      impl.storage->device.kind != kBatchedKind, Runtime,
      "vmap: a tensor under vmap cannot be given another shape in place: use a view, or the "
      "form that is not in-place");
  // What can fail comes first: a refused resize must not leave a tensor that is larger than its
  // memory.
  checked_numel(layout.sizes);
  size_t needed = static_cast<size_t>(extent(layout)) * size_bytes(impl.dtype);
  if (needed > impl.storage->bytes) impl.storage->resize(needed);
  put_layout(impl, layout);
}

void resize_output(std::string_view op, Tensor& out, DimsView sizes) {
  if (std::equal(sizes.begin(), sizes.end(), out.sizes().begin(), out.sizes().end())) return;
  if (out.numel() != 0)
    warn("An output with one or more elements was resized since it had shape ", out.sizes(),
         ", which does not match the ", "required output shape ", sizes, " of ", op,
         "; resize it to 0 elements first: t.resize_(0)");
  set_layout(*out.impl(), {sizes, contiguous_strides(sizes), out.offset()});
}

namespace detail {
void append(std::string& s, const Tensor& t) {
  if (!t.defined()) {
    s.append("None");
    return;
  }
  s.append(info(t.dtype()).name).push_back(' ');
  append(s, DimsView(t.sizes()));
}
}  // namespace detail

}  // namespace msa
