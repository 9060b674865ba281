// One table-driven parser for every operator: Python's arguments become the values of one overload.
//
// Overloads are tried in order and a mismatch costs no exception; the error is written only when
// none fits (bindings/parse_error.cpp).
#pragma once
#include <new>

#include "bindings/binding.h"
#include "bindings/common.h"

namespace msa::py {

inline constexpr int kMaxParams = 24;
inline constexpr int kMaxOutputs = 4;

// What the caller gave. `self` is null for functions.
struct Arguments {
  PyObject* self;
  PyObject* const* args;
  Py_ssize_t n;
  PyObject* kwnames;  // a tuple; their values follow the positional ones

  Py_ssize_t n_keywords() const { return kwnames ? PyTuple_GET_SIZE(kwnames) : 0; }
  PyObject* keyword(Py_ssize_t i) const { return PyTuple_GET_ITEM(kwnames, i); }
  PyObject* keyword_value(Py_ssize_t i) const { return args[n + i]; }
  Py_ssize_t n_positional() const { return n + (self ? 1 : 0); }
  PyObject* positional(Py_ssize_t i) const { return self ? (i ? args[i - 1] : self) : args[i]; }
};

// Room for what values point at: lists, numbers made into tensors. On the stack while it is little.
class Arena {
 public:
  Arena() {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { rewind(); }

  template <class T>
  T& make(T value) {
    void* p = room(sizeof(T), alignof(T));
    T* made = new (p) T(std::move(value));
    bool heap = p < room_ || p >= room_ + sizeof room_;
    items_[n_++] = {made, heap, [](void* q) { static_cast<T*>(q)->~T(); }};
    return *made;
  }
  void rewind() {
    while (n_ > 0) {
      Item& i = items_[--n_];
      i.drop(i.p);
      if (i.heap) ::operator delete(i.p);
    }
    used_ = 0;
  }

 private:
  struct Item {
    void* p;
    bool heap;
    void (*drop)(void*);
  };
  void* room(size_t bytes, size_t align) {
    size_t at = (used_ + align - 1) & ~(align - 1);
    if (at + bytes > sizeof room_) return ::operator new(bytes);
    used_ = at + bytes;
    return room_ + at;
  }
  int n_ = 0;
  size_t used_ = 0;
  Item items_[kMaxParams + kMaxOutputs];
  alignas(16) char room_[512];
};

// The arguments of one call, ready for OpInfo::call.
class Call {
 public:
  Call() {}  // leaves the values as they are: most are never used
  // False when the overload does not take these arguments.
  bool match(const Overload& overload, const Arguments& given);

  const OpInfo& op() const { return *overload_->op; }
  Form form() const { return out ? Form::Out : overload_->form; }
  const Value* values() const { return values_; }

  PyObject* out = nullptr;  // what was given as out=, borrowed
  bool foreign = false;     // an argument overrides __torch_function__

 private:
  bool assign(const Arguments& given, PyObject** slots);
  bool assign_keyword(PyObject* name, PyObject* value, PyObject** slots);
  bool take_out(PyObject* value);
  bool convert(const Param& p, PyObject* o, Value& value);
  bool convert_tensor(const Param& p, PyObject* o, Value& value);
  bool numbers_fit() const;
  bool convert_tensors(const Param& p, PyObject* o, Value& value);
  bool convert_dims(const Param& p, PyObject* o, Value& value);
  bool convert_other(const Param& p, PyObject* o, Value& value);

  const Overload* overload_ = nullptr;
  const Arguments* given_ = nullptr;
  bool packed_ = false;   // all positionals are one list: x.view(2, 3)
  bool numbers_ = false;  // a number stands for a tensor
  Arena arena_;
  union {
    Value values_[kMaxParams + kMaxOutputs];
  };
};

// The index of the parameter that a keyword names; NumPy's names count too. -1: none.
int find_param(const OpInfo& op, PyObject* name);
// Whether several ints in a row are this overload's one list.
bool packs_ints(const OpInfo& op, const Arguments& given);

// Raises the TypeError for arguments that no overload takes.
[[noreturn]] void raise_no_match(const Binding& binding, const Arguments& given);
// A type and value as conversion sees them, for error texts: may the object stand for the
// parameter?
bool accepts(const Param& p, PyObject* o);

void init_parser();

}  // namespace msa::py
