// What the shapes, dtypes and strides of a call's results rest on: all of its arguments but the
// elements. Calls alike in it need the row's rules, and questions about the result, only once.
#pragma once
#include <bit>
#include <cstring>

#include "core/dispatch/layers.h"

namespace msa::py {

class Signature {
 public:
  // False where an argument is of a kind that is not kept: such calls are asked about each time.
  bool of(const OpInfo& op, Form form, const Value* args) {
    n_ = 0;
    push(static_cast<int64_t>(form) << 8 | static_cast<int64_t>(default_dtype()));
    for (int i = 0; i < op.n_params; ++i)
      if (!add(args[i])) return false;
    return true;
  }
  bool operator==(const Signature& o) const {
    return n_ == o.n_ && std::memcmp(words_, o.words_, n_ * sizeof(int64_t)) == 0;
  }

 private:
  static constexpr size_t kMost = 40;

  bool push(int64_t word) {
    if (n_ == kMost) return false;
    words_[n_++] = word;
    return true;
  }
  bool push(DimsView dims) {
    for (int64_t d : dims)
      if (!push(d)) return false;
    return true;
  }
  bool add(const Value& v) {
    const int64_t tag = static_cast<int64_t>(v.tag());
    switch (v.tag()) {
      case Value::Tag::None:
        return push(tag);
      case Value::Tag::Tensor: {
        const Tensor& t = v.tensor();
        return push(tag | static_cast<int64_t>(t.dtype()) << 8 | t->wrapped_number << 16 |
                    static_cast<int64_t>(t.device().kind) << 24 |
                    static_cast<int64_t>(t.dim()) << 32) &&
               push(t.sizes()) && push(t.strides());
      }
      case Value::Tag::Int:
      case Value::Tag::Bool:
        return push(tag) && push(v.integer());
      case Value::Tag::Float:
        return push(tag) && push(std::bit_cast<int64_t>(v.real()));
      case Value::Tag::Dims:
        return push(tag | static_cast<int64_t>(v.dims().size()) << 8) && push(v.dims());
      default:
        return false;
    }
  }

  size_t n_ = 0;
  int64_t words_[kMost] = {};
};

}  // namespace msa::py
