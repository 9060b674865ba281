// _C.add_custom_row and the calls of such rows.
#include "bindings/custom.h"

#include <cstring>
#include <iterator>
#include <unordered_map>

#include "bindings/call.h"
#include "bindings/convert.h"
#include "bindings/overloads.h"
#include "bindings/tensor/tensor.h"
#include "core/dispatch/arguments.h"
#include "core/dispatch/custom.h"
#include "core/dispatch/opaque.h"

namespace msa::py {

namespace {

const char* const kTypes[] = {"Tensor", "Tensor[]",      "Scalar",    "int",   "float",
                              "bool",   "int[]",         "float[]",   "str",   "dtype",
                              "device", "memory_format", "Generator", "layout"};

ArgType type_of(const char* name) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (std::strcmp(kTypes[i], name) == 0) return static_cast<ArgType>(i);
  fail(ErrorKind::NotImplemented, "custom operators take no parameters of type ", name,
       "; pass a tensor, a number, a string, or a list of tensors or numbers");
}

// A default that is kept in the row.
Value default_value(CustomRow& row, PyObject* o) {
  if (o == Py_None) return Value();
  if (PyBool_Check(o)) return Value(o == Py_True);
  if (PyLong_Check(o)) return Value(static_cast<int64_t>(PyLong_AsLongLong(o)));
  if (PyFloat_Check(o)) return Value(PyFloat_AS_DOUBLE(o));
  if (PyUnicode_Check(o)) {
    row.texts.emplace_back(PyUnicode_AsUTF8(o));
    return Value(&row.words.emplace_back(row.texts.back()));
  }
  Dims list;
  MSA_REQUIRE(to_dims(o, list), NotImplemented, row.name, ": a default of type ",
              Py_TYPE(o)->tp_name, " is not supported for custom operators");
  return Value(row.lists.emplace_back(std::move(list)));
}

// (name, type, optional, keyword only, default or the type object itself for none)
void add_param(CustomRow& row, PyObject* entry) {
  const char *name, *type;
  int optional, keyword_only, has_default;
  PyObject* given;
  if (!PyArg_ParseTuple(entry, "ssiiiO", &name, &type, &optional, &keyword_only, &has_default,
                        &given))
    throw PythonError();
  row.texts.emplace_back(name);
  Param p{};
  p.name = row.texts.back().c_str();
  p.type = type_of(type);
  p.optional = optional;
  p.keyword_only = keyword_only;
  p.has_default = has_default;
  if (has_default) p.default_value = default_value(row, given);
  row.params.push_back(p);
}

std::unordered_map<const OpInfo*, NativeBody>& native_bodies() {
  static auto& all = *new std::unordered_map<const OpInfo*, NativeBody>;
  return all;
}

bool needs_python(const OpInfo& op, const Value* args) {
  return any_tensor(args, op.n_params, [](const Tensor& t) {
    return is_opaque(t) || (thread_state.grad_enabled && t.requires_grad());
  });
}

void call_python(const OpInfo& op, PyObject* body, const Value* args, Results& results) {
  auto native = native_bodies().find(&op);
  if (native != native_bodies().end() && !needs_python(op, args))
    return native->second(op, args, results);
  Owned given = checked(PyTuple_New(op.n_params));
  for (int i = 0; i < op.n_params; ++i)
    PyTuple_SET_ITEM(given.get(), i, shown_value(args[i]).release());
  Owned made = checked(PyObject_Call(body, given.get(), nullptr));
  read_results(op, made.get(), results);
}

// _C.add_custom_row(name, overload, schema, params, body) -> the row. `body` gets all parameters in
// order, below the layers.
PyObject* add_row(PyObject*, PyObject* args) {
  return guarded([&] {
    const char *name, *overload, *schema;
    PyObject *params, *body;
    if (!PyArg_ParseTuple(args, "sssO!O", &name, &overload, &schema, &PyList_Type, &params, &body))
      throw PythonError();
    MSA_REQUIRE(PyList_GET_SIZE(params) <= kMaxParams, NotImplemented, name, ": at most ",
                kMaxParams, " parameters are supported, got ", PyList_GET_SIZE(params));
    auto row = std::make_unique<CustomRow>();
    row->name = name;
    row->overload = overload;
    row->schema = schema;
    int n_positional = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); ++i) {
      add_param(*row, PyList_GET_ITEM(params, i));
      n_positional += !row->params.back().keyword_only;
    }
    const OpInfo* info = &row->info;
    row->body = [info, held = Owned::borrow(body)](const Value* values, Results& results) {
      call_python(*info, held.get(), values, results);
    };
    const OpInfo& added = add_custom_row(std::move(row), n_positional);
    for (int i = 0; i < added.n_params; ++i)  // keywords are compared with these
      face_of(added).param_names.push_back(PyUnicode_InternFromString(added.params[i].name));
    return row_object(added).release();
  });
}

Owned run(const OpInfo& op, Call& call) {
  Results results;
  call_custom(op, call.values(), results);
  return checked(wrap_results(op, results));
}

// _C.call_custom(overload, row, args, kwargs)
PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t n) {
  return guarded([&] {
    MSA_REQUIRE(n == 4, Type, "call_custom(overload, row, args, kwargs)");
    return call_parsed(given[0], row_of(given[1]), Form::Function, given[2], given[3], run)
        .release();
  });
}

// The hook of the arguments' classes, or NotImplemented where no class has one.
Owned hand_over(const OpInfo& op, Call& call) {
  if (!any_tensor(call.values(), op.n_params, [](const Tensor& t) { return is_python(t); }))
    return Owned::borrow(Py_NotImplemented);
  Results results;
  python_backend().call(op, Form::Function, call.values(), results);
  return checked(wrap_results(op, results));
}

// _C.hand_to_class(overload, row, args, kwargs): what __torch_dispatch__ of the arguments' classes
// makes of the call.
PyObject* hand_to_class(PyObject*, PyObject* const* given, Py_ssize_t n) {
  return guarded([&] {
    MSA_REQUIRE(n == 4, Type, "hand_to_class(overload, row, args, kwargs)");
    return call_parsed(given[0], row_of(given[1]), Form::Function, given[2], given[3], hand_over)
        .release();
  });
}

PyMethodDef functions[] = {
    {"add_custom_row", add_row, METH_VARARGS, "Adds an operator with a body in Python."},
    {"call_custom", fastcall(call), METH_FASTCALL, "Calls such an operator."},
    {"hand_to_class", fastcall(hand_to_class), METH_FASTCALL,
     "Lets the classes of the arguments run such an operator."},
    {},
};

}  // namespace

void set_native_body(const OpInfo& op, NativeBody body) { native_bodies()[&op] = body; }

void init_custom(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace msa::py
