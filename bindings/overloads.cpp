// The table of overload objects, and calls between them and the boxed operators.
#include "bindings/overloads.h"

#include <cstring>
#include <unordered_map>

#include "bindings/call.h"
#include "bindings/convert.h"
#include "bindings/generator.h"
#include "bindings/tensor/tensor.h"
#include "bindings/torch_function.h"
#include "bindings/types/types.h"
#include "core/dispatch/opaque.h"

namespace msa::py {

namespace {

const char kCapsule[] = "ms_adapter.row";
PyObject* maker = nullptr;  // (row, form, which parameters are numbers) -> the overload

const char* name_of(Form form) {
  return form == Form::Function ? "function" : form == Form::Inplace ? "inplace" : "out";
}

bool is_number(const Value& v) {
  return v.tag() == Value::Tag::Tensor && v.tensor()->wrapped_number;
}

// PyTorch has overloads of their own for `x == 2`, where our rows take a 0-d tensor.
unsigned numbers_of(const OpInfo& op, const Value* args) {
  unsigned found = 0;
  for (unsigned i = 0; i < op.n_params && i < 8; ++i)
    if (is_number(args[i])) found |= 1u << i;
  return found;
}

PyObject* overload_of(const OpInfo& op, Form form, unsigned numbers) {
  static auto& made =
      *new std::unordered_map<const OpInfo*, std::unordered_map<unsigned, PyObject*>>;
  PyObject*& found = made[&op][numbers << 2 | static_cast<unsigned>(form)];
  if (!found) {
    MSA_REQUIRE(maker, Runtime, "set_overload_maker was not called");
    found = checked(PyObject_CallFunction(maker, "NsI", row_object(op).release(), name_of(form),
                                          numbers))
                .release();
  }
  return found;
}

bool at_default(const Param& p, const Value& v) {
  return p.has_default && (v.is_none() || v.same_plain(p.default_value));
}

}  // namespace

Owned row_object(const OpInfo& op) {
  static auto& made = *new std::unordered_map<const OpInfo*, PyObject*>;
  PyObject*& found = made[&op];  // one for each, so that Python can tell them apart
  if (!found) found = checked(PyCapsule_New(const_cast<OpInfo*>(&op), kCapsule, nullptr)).release();
  return Owned::borrow(found);
}
const OpInfo& row_of(PyObject* capsule) {
  auto* op = static_cast<const OpInfo*>(PyCapsule_GetPointer(capsule, kCapsule));
  if (!op) throw PythonError();
  return *op;
}

Owned shown_value(const Value& v) {
  if (is_number(v)) return checked(item_object(v.tensor()));
  if (v.tag() == Value::Tag::Device)
    return checked(value_object(Value(claimed_device(v.device()))));
  if (v.tag() == Value::Tag::Generator) return checked(generator_object(*v.generator()));
  Owned made(value_object(v));
  if (PyTuple_CheckExact(made.get())) return checked(PySequence_List(made.get()));
  return made;
}

namespace {
Owned shown_argument(const Param& p, const Value& v) {
  if (p.type != ArgType::Layout || v.is_none()) return shown_value(v);
  return Owned::borrow(layout_object(static_cast<int>(v.integer())));
}
}  // namespace

ShownCall show_call(const OpInfo& op, Form form, const Value* args) {
  ShownCall call;
  call.func = Owned::borrow(overload_of(op, form, numbers_of(op, args)));
  int n = op.n_positional;
  while (n > 0 && at_default(op.params[n - 1], args[n - 1])) --n;
  call.args = checked(PyTuple_New(n));
  for (int i = 0; i < n; ++i)
    PyTuple_SET_ITEM(call.args.get(), i, shown_argument(op.params[i], args[i]).release());
  call.kwargs = checked(PyDict_New());
  for (int i = op.n_positional; i < op.n_params; ++i)
    if (!at_default(op.params[i], args[i]))
      checked(PyDict_SetItemString(call.kwargs.get(), op.params[i].name,
                                   shown_argument(op.params[i], args[i]).get()));
  if (form != Form::Out) return call;
  Owned out = checked(PyTuple_New(op.n_results));
  for (int i = 0; i < op.n_results; ++i)
    PyTuple_SET_ITEM(out.get(), i, value_object(args[op.n_params + i]));
  PyObject* given = op.n_results == 1 ? PyTuple_GET_ITEM(out.get(), 0) : out.get();
  checked(PyDict_SetItemString(call.kwargs.get(), "out", given));
  return call;
}

void take_results(const OpInfo& op, Form form, const Value* args, PyObject* given,
                  Results& results) {
  if (form == Form::Inplace) return results.set(args[0].tensor());
  if (form == Form::Out) return;
  read_results(op, given, results);
  const char* arrow = std::strstr(op.schema, "-> ");
  const bool wants = arrow && (std::strncmp(arrow, "-> Tensor", 9) == 0 || arrow[3] == '(');
  const bool list = arrow && std::strncmp(arrow, "-> Tensor[]", 11) == 0;
  MSA_REQUIRE(!wants || list || !results.tensors.empty(), Type, op.name,
              ": __torch_dispatch__ returned ", Py_TYPE(given)->tp_name, "; wanted ", arrow + 3);
}

namespace {
// Overloads raise RuntimeError for arguments that do not fit, where functions raise TypeError.
[[noreturn]] void raise_mismatch(const Binding& binding, const Arguments& given) {
  try {
    raise_no_match(binding, given);
  } catch (...) {
    set_python_error();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_Format(PyExc_RuntimeError, "%S", value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
  }
  throw PythonError();
}
}  // namespace

Owned call_parsed(PyObject* overload, const OpInfo& op, Form form, PyObject* args, PyObject* kwargs,
                  UseCall use) {
  std::vector<PyObject*> values(PySequence_Fast_ITEMS(args),
                                PySequence_Fast_ITEMS(args) + PyTuple_GET_SIZE(args));
  Owned names = checked(PyTuple_New(PyDict_GET_SIZE(kwargs)));
  PyObject *key, *value;
  Py_ssize_t i = 0;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &key, &value); ++i) {
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(key));
    values.push_back(value);
  }
  Arguments arguments{nullptr, values.data(), PyTuple_GET_SIZE(args), names.get()};
  if (modes_active()) return Owned(dispatch_torch_function(overload, arguments));
  Overload row{&op, form};
  Call call;
  if (!call.match(row, arguments)) raise_mismatch({op.name, &row, 1}, arguments);
  if (call.foreign) return Owned(dispatch_torch_function(overload, arguments));
  return use(op, call);
}

namespace {

Owned run(const OpInfo& op, Call& call) {
  Results results;
  boxed(op, call.form())(call.values(), results);
  return checked(wrap_results(op, results));
}

// _C.call_row(overload, row, form, args, kwargs)
PyObject* call_row(PyObject*, PyObject* const* given, Py_ssize_t n) {
  return guarded([&] {
    MSA_REQUIRE(n == 5, Type, "call_row(overload, row, form, args, kwargs)");
    const bool inplace = PyUnicode_CompareWithASCIIString(given[2], "inplace") == 0;
    return call_parsed(given[0], row_of(given[1]), inplace ? Form::Inplace : Form::Function,
                       given[3], given[4], run)
        .release();
  });
}

// _C.rows() -> [(row, name, overload, schema, composed, forms)]
PyObject* rows(PyObject*, PyObject*) {
  return guarded([&] {
    Owned list = checked(PyList_New(0));
    for (size_t i = 0; i < op_count; ++i) {
      const OpInfo& op = *op_table[i];
      std::string forms;
      if (op.call) forms += "function ";
      if (op.call_inplace) forms += "inplace ";
      if (op.call_out) forms += "out ";
      Owned entry =
          checked(Py_BuildValue("NsssOs", row_object(op).release(), op.name, op.overload, op.schema,
                                op.composed ? Py_True : Py_False, forms.c_str()));
      checked(PyList_Append(list.get(), entry.get()));
    }
    return list.release();
  });
}

PyObject* set_maker(PyObject*, PyObject* function) {
  Py_XSETREF(maker, Py_NewRef(function));
  return none();
}

PyMethodDef functions[] = {
    {"call_row", fastcall(call_row), METH_FASTCALL, "Calls a row with arguments of its own form."},
    {"rows", rows, METH_NOARGS, "The registry's rows."},
    {"set_overload_maker", set_maker, METH_O, "Who makes the objects that stand for rows."},
    {},
};

}  // namespace

void init_overloads(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace msa::py
