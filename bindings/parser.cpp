// The parser that every operator shares: slots from positions and names, then values by type.
#include "bindings/parser.h"

#include <algorithm>
#include <vector>

#include "bindings/convert.h"
#include "bindings/generator.h"
#include "bindings/tensor/tensor.h"
#include "bindings/torch_function.h"
#include "bindings/types/types.h"

namespace msa::py {

namespace {

PyObject* out_name;  // "out", the one keyword that rows do not declare

struct NumpyName {
  PyObject *numpy, *ours;
};
std::vector<NumpyName> numpy_names;

PyObject* intern(const char* text) {
  PyObject* o = PyUnicode_InternFromString(text);
  if (!o) throw PythonError();
  return o;
}

int find_interned(const OpInfo& op, PyObject* name) {
  PyObject* const* names = face_of(op).param_names.data();
  for (int i = 0; i < op.n_params; ++i)
    if (names[i] == name) return i;
  return -1;
}

// A list that may be left out for another meaning (the stride of a pool): None says so too.
bool defaults_to_empty(const Param& p) {
  return p.type == ArgType::Dims && p.has_default && p.default_value.tag() == Value::Tag::Dims &&
         p.default_value.dims().empty();
}

}  // namespace

void init_parser() {
  for (size_t i = 0; i < op_count; ++i) {
    const OpInfo& op = *op_table[i];
    auto& names = face_of(op).param_names;
    for (int p = 0; p < op.n_params; ++p) names.push_back(intern(op.params[p].name));
  }
  out_name = intern("out");
  constexpr const char* kNumpyNames[][2] = {{"axis", "dim"}, {"keepdims", "keepdim"},
                                            {"x", "input"},  {"x1", "input"},
                                            {"a", "input"},  {"x2", "other"}};
  for (auto& [theirs, ours] : kNumpyNames) numpy_names.push_back({intern(theirs), intern(ours)});
}

int find_param(const OpInfo& op, PyObject* name) {
  int i = find_interned(op, name);
  if (__builtin_expect(i >= 0, 1)) return i;
  Owned interned =
      Owned::borrow(name);  // a name built at run time, f(**{...}), may be another object
  PyObject* p = interned.release();
  PyUnicode_InternInPlace(&p);
  interned = Owned(p);
  i = find_interned(op, p);
  for (const NumpyName& n : numpy_names)
    if (i < 0 && n.numpy == p) i = find_interned(op, n.ours);
  return i;
}

namespace {
// An object that overrides, no tensor, in the place of a number or of one in a list: torch.fx's
// proxies stand for sizes too.
bool stands_in(PyObject* item) { return !is_tensor(item) && overrides_torch_function(item); }
bool stands_in(const Arguments& given, bool packed, PyObject* o) {
  PyObject* const* items = &o;
  Py_ssize_t n = 1;
  if (packed && o == given.args[0]) {
    items = given.args;
    n = given.n;
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    items = PySequence_Fast_ITEMS(o);
    n = Py_SIZE(o);
  }
  return std::any_of(items, items + n, [](PyObject* item) { return stands_in(item); });
}
}  // namespace

bool packs_ints(const OpInfo& op, const Arguments& given) {
  int first = given.self ? 1 : 0;
  if (op.n_positional != first + 1 || op.params[first].type != ArgType::Dims) return false;
  int64_t ignored;
  return given.n == 0 || to_list_int(given.args[0], ignored) || stands_in(given.args[0]);
}

bool Call::match(const Overload& overload, const Arguments& given) {
  overload_ = &overload;
  given_ = &given;
  out = nullptr;
  foreign = packed_ = numbers_ = false;
  arena_.rewind();
  const OpInfo& op = *overload.op;
  PyObject* slots[kMaxParams];
  for (int i = 0; i < op.n_params; ++i) slots[i] = nullptr;
  if (!assign(given, slots)) return false;
  for (int i = 0; i < op.n_params; ++i) {
    const Param& p = op.params[i];
    if (slots[i]) {
      if (!convert(p, slots[i], values_[i])) return false;
    } else if (p.has_default) {
      values_[i] = p.default_value;
    } else {
      return false;
    }
  }
  return __builtin_expect(!numbers_, 1) || numbers_fit();
}

// A number may stand for a tensor only beside one; in a few rows for all of them.
bool Call::numbers_fit() const {
  bool tensor = foreign, always = false;
  for (int i = 0; i < op().n_params; ++i) {
    const Param& p = op().params[i];
    always |= p.number == Number::Always;
    tensor |= values_[i].tag() == Value::Tag::Tensor && !values_[i].tensor()->wrapped_number;
  }
  return tensor || always;
}

bool Call::assign(const Arguments& given, PyObject** slots) {
  const OpInfo& op = *overload_->op;
  Py_ssize_t n = given.n_positional();
  int first = given.self ? 1 : 0;
  if (op.n_positional == first + 1 && given.n > 0 && packs_ints(op, given)) {
    packed_ = true;
    slots[first] = given.args[0];
    if (first) slots[0] = given.self;
  } else {
    if (n > op.n_positional) return false;
    for (Py_ssize_t i = 0; i < n; ++i) slots[i] = given.positional(i);
  }
  for (Py_ssize_t i = 0; i < given.n_keywords(); ++i)
    if (!assign_keyword(given.keyword(i), given.keyword_value(i), slots)) return false;
  return true;
}

bool Call::assign_keyword(PyObject* name, PyObject* value, PyObject** slots) {
  int i = find_param(op(), name);
  if (i < 0) return (name == out_name || PyUnicode_Compare(name, out_name) == 0) && take_out(value);
  if (slots[i]) return false;
  slots[i] = value;
  return true;
}

bool Call::take_out(PyObject* value) {
  const OpInfo& op = *overload_->op;
  if (value == Py_None) return true;
  if (!op.call_out || overload_->form != Form::Function) return false;
  bool list =
      PyTuple_Check(value) || PyList_Check(value);  // for several results, and only for them
  PyObject* const* items = list ? PySequence_Fast_ITEMS(value) : &value;
  if (list != (op.n_results > 1) || (list && Py_SIZE(value) != op.n_results)) return false;
  for (int i = 0; i < op.n_results; ++i) {
    if (!is_tensor(items[i])) return false;
    if (overrides_torch_function(items[i])) foreign = true;
    values_[op.n_params + i] = Value(tensor_of(items[i]));
  }
  out = value;
  return true;
}

bool Call::convert(const Param& p, PyObject* o, Value& value) {
  if (p.type == ArgType::Tensor) return convert_tensor(p, o, value);
  if (o == Py_None && (p.optional || defaults_to_empty(p))) {
    value = p.optional ? Value() : p.default_value;
    return true;
  }
  const bool fits = p.type == ArgType::Tensors ? convert_tensors(p, o, value)
                    : p.type == ArgType::Dims  ? convert_dims(p, o, value)
                                               : convert_other(p, o, value);
  if (__builtin_expect(fits, 1)) return true;
  if (!stands_in(*given_, packed_, o)) return false;
  value = Value();
  return foreign = true;
}

bool Call::convert_tensor(const Param& p, PyObject* o, Value& value) {
  if (__builtin_expect(is_plain_tensor(o), 1)) {
    value = Value(tensor_of(o));
    return true;
  }
  if (o == Py_None) {
    value = Value();
    return p.optional;
  }
  if (is_tensor(o)) {
    if (overrides_torch_function(o)) foreign = true;
    value = Value(tensor_of(o));
    return true;
  }
  Scalar number;
  if (p.number != Number::No && to_scalar(o, number)) {
    value = Value(arena_.make(wrapped_number(number)));
    return numbers_ = true;
  }
  foreign = foreign || overrides_torch_function(o);
  value = Value();
  return foreign;
}

bool Call::convert_tensors(const Param&, PyObject* o, Value& value) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  TensorList list;
  list.reserve(static_cast<size_t>(Py_SIZE(o)));
  for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i) {
    PyObject* entry = PySequence_Fast_ITEMS(o)[i];
    if (!is_plain_tensor(entry) && overrides_torch_function(entry)) foreign = true;
    if (is_tensor(entry)) {
      list.push_back(tensor_of(entry));
    } else if (foreign) {
      list.emplace_back();
    } else {
      return false;
    }
  }
  value = Value(arena_.make(std::move(list)));
  return true;
}

bool Call::convert_dims(const Param& p, PyObject* o, Value& value) {
  Dims dims;
  int64_t single;
  if (packed_ && o == given_->args[0]) {
    if (!to_dims(given_->args, given_->n, dims)) return false;
  } else if (!to_dims(o, dims)) {
    if (p.repeat_int == 0 || !to_list_int(o, single)) return false;
    dims.resize(static_cast<size_t>(p.repeat_int), single);
  } else if (p.repeat_int > 1 && dims.size() == 1) {
    dims.resize(static_cast<size_t>(p.repeat_int), dims[0]);
  } else if (p.repeat_int > 1 && static_cast<int>(dims.size()) != p.repeat_int) {
    MSA_REQUIRE(dims.empty() && defaults_to_empty(p), Runtime, op().name, ": ", p.name,
                " must be one integer or a list of ", static_cast<int>(p.repeat_int), ", but got ",
                dims);
  }
  value = Value(arena_.make(std::move(dims)));
  return true;
}

bool Call::convert_other(const Param& p, PyObject* o, Value& value) {
  switch (p.type) {
    case ArgType::Scalar: {
      Scalar s;
      if (!to_scalar(o, s)) return false;
      if (s.is_complex())
        value = Value(&arena_.make(s.to_complex()));
      else if (s.is_floating())
        value = Value(s.to_double());
      else if (s.is_bool())
        value = Value(s.to<bool>());
      else
        value = Value(s.to_int());
      return true;
    }
    case ArgType::Int: {
      int64_t v;
      if (!to_int(o, v)) return false;
      value = Value(v);
      return true;
    }
    case ArgType::Float: {
      double v;
      if (!to_real(o, v)) return false;
      value = Value(v);
      return true;
    }
    case ArgType::Bool: {
      bool v;
      if (!to_bool(o, v)) return false;
      value = Value(v);
      return true;
    }
    case ArgType::Floats: {
      std::vector<double> v;
      if (!to_reals(o, v)) return false;
      value = Value(arena_.make(std::move(v)));
      return true;
    }
    case ArgType::Str: {
      if (!PyUnicode_Check(o)) return false;
      Py_ssize_t n;
      const char* text = PyUnicode_AsUTF8AndSize(o, &n);
      if (!text) throw PythonError();
      value = Value(&arena_.make(std::string_view(text, static_cast<size_t>(n))));
      return true;
    }
    case ArgType::DType: {
      DType t;
      if (!to_dtype(o, t)) return false;
      value = Value(t);
      return true;
    }
    case ArgType::Device: {
      Device d;
      if (!to_device(o, d)) return false;
      value = Value(d);
      return true;
    }
    case ArgType::Format:
      if (!is_memory_format(o)) return false;
      value = Value(memory_format_value(o));
      return true;
    case ArgType::Layout:
      if (!is_layout(o)) return false;
      value = Value(static_cast<int64_t>(layout_value(o)));
      return true;
    case ArgType::Generator:
      if (!is_generator(o)) return false;
      value = Value(generator_value(o));
      return true;
    default:
      return false;
  }
}

bool accepts(const Param& p, PyObject* o) {
  Overload probe{};
  OpInfo op{};
  Param alone = p;
  if (p.number != Number::No) alone.number = Number::Always;
  op.name = p.name;
  op.params = &alone;
  op.n_params = op.n_positional = 1;
  probe.op = &op;
  Call call;
  Arguments given{nullptr, &o, 1, nullptr};
  return call.match(probe, given);
}

}  // namespace msa::py
