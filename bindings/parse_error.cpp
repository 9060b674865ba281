// The TypeErrors of calls that no overload takes, in PyTorch's words.
#include <string>
#include <vector>

#include "bindings/parser.h"
#include "bindings/types/types.h"

namespace msa::py {

namespace {

const char* type_name(const Param& p) {
  switch (p.type) {
    case ArgType::Tensor:
      return "Tensor";
    case ArgType::Tensors:
      return "tuple of Tensors";
    case ArgType::Scalar:
      return "Number";
    case ArgType::Int:
      return "int";
    case ArgType::Float:
      return "float";
    case ArgType::Bool:
      return "bool";
    case ArgType::Dims:
      return "tuple of ints";
    case ArgType::Floats:
      return "tuple of floats";
    case ArgType::Str:
      return "str";
    case ArgType::DType:
      return "torch.dtype";
    case ArgType::Device:
      return "torch.device";
    case ArgType::Format:
      return "torch.memory_format";
    case ArgType::Layout:
      return "torch.layout";
    case ArgType::Generator:
      return "torch.Generator";
  }
  return "?";
}

// "Tensor", "torch.dtype": the given object's type as the messages name it.
std::string given_name(PyObject* o) {
  std::string name = Py_TYPE(o)->tp_name;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    std::string items;
    for (Py_ssize_t i = 0; i < Py_SIZE(o) && i < 8; ++i) {
      if (i) items += ", ";
      items += given_name(PySequence_Fast_ITEMS(o)[i]);
    }
    return cat(name, " of ", PyTuple_CheckExact(o) ? "(" : "[", items,
               Py_SIZE(o) == 1 && PyTuple_CheckExact(o) ? ",)"
               : PyTuple_CheckExact(o)                  ? ")"
                                                        : "]");
  }
  return name;
}

// "(Tensor input, Number alpha = 1, *, Tensor out)": one overload as documented.
std::string signature(const Overload& o, bool method) {
  std::string text = "(";
  bool star = false;
  auto add = [&](std::string_view part) { text += cat(text.size() > 1 ? ", " : "", part); };
  for (int i = method ? 1 : 0; i < o.op->n_params; ++i) {
    const Param& p = o.op->params[i];
    if (p.keyword_only && !star) {
      add("*");
      star = true;
    }
    const char* tail = p.has_default ? " = ..." : "";
    add(cat(type_name(p), p.number != Number::No ? " or Number " : " ", p.name, tail));
  }
  if (o.op->call_out && o.form == Form::Function) {
    if (!star) add("*");
    add("Tensor out = None");
  }
  return text + ")";
}

std::string function_name(const Binding& b) {
  std::string_view name = b.name;
  return std::string(name.substr(name.rfind('.') + 1));
}

struct Report {
  const Binding& binding;
  const Arguments& given;
  std::string name = function_name(binding);
  const Overload& overload = binding.overloads[0];
  const OpInfo& op = *overload.op;

  [[noreturn]] void raise(const std::string& text) const {
    throw Error(ErrorKind::Type, cat(name, "()", text));
  }

  // Only one way to call it: say exactly what is wrong.
  [[noreturn]] void explain_single() const {
    Py_ssize_t first = given.self ? 1 : 0;
    std::vector<PyObject*> slots(op.n_params);
    if (!packs_ints(op, given)) {
      if (given.n_positional() > op.n_positional) {
        raise(cat(" takes ", static_cast<long>(op.n_positional - first), " positional argument",
                  op.n_positional - first == 1 ? "" : "s", " but ", static_cast<long>(given.n),
                  given.n == 1 ? " was given" : " were given", ": valid is ", name,
                  signature(overload, given.self)));
      }
      for (Py_ssize_t i = 0; i < given.n_positional(); ++i)
        slots[static_cast<size_t>(i)] = given.positional(i);
    } else if (given.n > 0) {
      slots[static_cast<size_t>(first)] = given.args[0];
    }
    check_keywords(slots);
    check_types(slots);
    check_missing(slots);
    raise(cat(": invalid arguments; valid is ", name, signature(overload, given.self)));
  }

  void check_keywords(std::vector<PyObject*>& slots) const {
    for (Py_ssize_t i = 0; i < given.n_keywords(); ++i) {
      const char* keyword = PyUnicode_AsUTF8(given.keyword(i));
      int at = find_param(op, given.keyword(i));
      if (at < 0) {
        if (std::string_view(keyword) == "out" && op.call_out) raise_out(given.keyword_value(i));
        raise(cat(" got an unexpected keyword argument '", keyword, "'"));
      }
      if (slots[static_cast<size_t>(at)])
        raise(cat(" got multiple values for argument '", op.params[at].name, "'"));
      slots[static_cast<size_t>(at)] = given.keyword_value(i);
    }
  }

  [[noreturn]] void raise_out(PyObject* value) const {
    if (op.n_results > 1) {
      raise(cat(": argument 'out' must be a tuple of ", static_cast<int>(op.n_results),
                " Tensors, not ", given_name(value)));
    }
    raise(cat(": argument 'out' must be Tensor, not ", given_name(value)));
  }

  void check_types(const std::vector<PyObject*>& slots) const {
    bool packed = packs_ints(op, given) && given.n > 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      const Param& p = op.params[i];
      bool is_packed = packed && i == (given.self ? 1u : 0u);
      if (!slots[i] || is_packed || accepts(p, slots[i])) continue;
      long position = static_cast<long>(i) + (given.self ? 0 : 1);
      bool positional = static_cast<Py_ssize_t>(i) < given.n_positional();
      raise(cat(": argument '", p.name, "'", positional ? cat(" (position ", position, ")") : "",
                " must be ", type_name(p), ", not ", given_name(slots[i])));
    }
  }

  void check_missing(const std::vector<PyObject*>& slots) const {
    std::string names;
    int n = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      const Param& p = op.params[i];
      if (slots[i] || p.has_default) continue;
      names += cat(n++ ? ", \"" : "\"", p.name, "\"");
    }
    if (n)
      raise(cat(" missing ", n, " required positional argument", n == 1 ? "" : "s", ": ", names));
  }

  [[noreturn]] void explain_many() const {
    std::string got;
    for (Py_ssize_t i = 0; i < given.n; ++i) got += cat(i ? ", " : "", given_name(given.args[i]));
    for (Py_ssize_t i = 0; i < given.n_keywords(); ++i)
      got += cat(got.empty() ? "" : ", ", PyUnicode_AsUTF8(given.keyword(i)), "=",
                 given_name(given.keyword_value(i)));
    std::string text = cat(" received an invalid combination of arguments - got (", got,
                           "), but expected one of:");
    for (int i = 0; i < binding.n_overloads; ++i)
      text += cat("\n * ", signature(binding.overloads[i], given.self != nullptr));
    raise(text);
  }
};

}  // namespace

void raise_no_match(const Binding& binding, const Arguments& given) {
  Report report{binding, given};
  if (binding.n_overloads == 1) report.explain_single();
  report.explain_many();
}

}  // namespace msa::py
