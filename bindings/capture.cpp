// Starts and ends the recording of this thread, and shows its graph to Python.
#include "bindings/capture.h"

#include <memory>

#include "bindings/boxed.h"
#include "bindings/convert.h"
#include "bindings/native_function.h"
#include "bindings/tensor/tensor.h"
#include "bindings/types/types.h"
#include "core/capture/recorder.h"

namespace msa::py {

namespace {

using capture::Graph;
using capture::VarId;

thread_local std::unique_ptr<capture::Recorder> running;
thread_local std::string package;  // files below it are not the user's

capture::Recorder& recorder() {
  MSA_REQUIRE(running, Runtime, "capture: no recording is running in this thread");
  return *running;
}

// "train.py:12" of the innermost frame that is not ours.
std::string user_line() {
  Owned frame = Owned::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* at = reinterpret_cast<PyFrameObject*>(frame.get());
    Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
    if (!file) throw PythonError();
    if (std::string_view(file).substr(0, package.size()) != package)
      return cat(file, ":", PyFrame_GetLineNumber(at));
    frame = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
  return {};
}

TensorList tensors_of(PyObject* list, bool or_none = false) {
  MSA_REQUIRE(PyList_Check(list), Type, "capture: a list of tensors is needed, not ",
              Py_TYPE(list)->tp_name);
  TensorList found;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* o = PyList_GET_ITEM(list, i);
    const bool none = or_none && o == Py_None;
    MSA_REQUIRE(none || is_tensor(o), Type, "capture: [", i, "] is no tensor but ",
                Py_TYPE(o)->tp_name);
    found.push_back(none ? Tensor() : tensor_of(o));
  }
  return found;
}

Owned list_of(TensorsView tensors) {
  Owned list = checked(PyList_New(0));
  for (const Tensor& t : tensors) checked(PyList_Append(list.get(), checked(wrap(t)).get()));
  return list;
}

// --- graphs --------------------------------------------------------------------------------------

struct GraphObject {
  PyObject_HEAD Graph* graph;
};
extern PyTypeObject graph_type;

const Graph& graph_of(PyObject* o) { return *reinterpret_cast<GraphObject*>(o)->graph; }

Owned graph_object(std::unique_ptr<Graph> graph) {
  Owned object = checked(graph_type.tp_alloc(&graph_type, 0));
  reinterpret_cast<GraphObject*>(object.get())->graph = graph.release();
  return object;
}

void dealloc(PyObject* self) {
  delete reinterpret_cast<GraphObject*>(self)->graph;
  Py_TYPE(self)->tp_free(self);
}

Owned ids_of(const std::vector<VarId>& ids) {
  Owned list = checked(PyList_New(0));
  for (const VarId id : ids)
    checked(PyList_Append(list.get(),
                          checked(id == capture::kNoVar ? none() : PyLong_FromLong(id)).get()));
  return list;
}

// (kind, value): "none", "value" (an id), "values" (ids), "number" (where a tensor may stand),
// "plain".
PyObject* argument_object(const capture::Arg& arg) {
  return std::visit(
      [&]<class T>(const T& v) -> PyObject* {
        if constexpr (std::is_same_v<T, std::monostate>)
          return Py_BuildValue("sO", "none", Py_None);
        else if constexpr (std::is_same_v<T, capture::VarRef>)
          return Py_BuildValue("si", "value", v.id);
        else if constexpr (std::is_same_v<T, capture::VarRefs>)
          return Py_BuildValue("sN", "values", ids_of(v.ids).release());
        else if constexpr (std::is_same_v<T, capture::Number>)
          return Py_BuildValue("sN", "number", scalar_object(v.value));
        else if constexpr (std::is_same_v<T, Scalar>)
          return Py_BuildValue("sN", "plain", scalar_object(v));
        else if constexpr (std::is_same_v<T, std::string>)
          return Py_BuildValue("ss", "plain", v.c_str());
        else
          return Py_BuildValue("sN", "plain", value_object(Value(v)));
      },
      arg);
}

// (origin, dtype, shape, strides, device, tensor or None, used)
Owned var_object(const capture::Var& var) {
  constexpr const char* kOrigins[] = {"input", "captured", "constant", "result"};
  return checked(Py_BuildValue(
      "sONNNNO", kOrigins[static_cast<int>(var.origin)], dtype_object(var.dtype),
      value_object(Value(var.sizes)), value_object(Value(var.strides)), device_object(var.device),
      var.tensor.defined() ? wrap(var.tensor) : none(), var.used ? Py_True : Py_False));
}

Owned words_of(const OpInfo& op) {
  Owned words = checked(PyList_New(0));
  for (const char* const* word = op.ms; word && *word; ++word)
    checked(PyList_Append(words.get(), checked(PyUnicode_FromString(*word)).get()));
  return words;
}

// (row, form, parameters' names, arguments, how many say something, results, changes, random,
// where, MindSpore's words)
Owned node_object(const capture::Node& node) {
  constexpr const char* kForms[] = {"function", "inplace", "out"};
  const OpInfo& op = *node.op;
  const std::string row = *op.overload ? cat(op.name, ".", op.overload) : op.name;
  Owned args = checked(PyList_New(0)), names = checked(PyList_New(0)),
        changes = checked(PyList_New(0));
  for (size_t i = 0; i < node.args.size(); ++i) {
    checked(PyList_Append(args.get(), checked(argument_object(node.args[i])).get()));
    checked(PyList_Append(names.get(), checked(PyUnicode_FromString(op.params[i].name)).get()));
  }
  for (const capture::Change& change : node.changes)
    checked(
        PyList_Append(changes.get(), checked(Py_BuildValue("ii", change.arg, change.after)).get()));
  return checked(Py_BuildValue("ssNNiNNOsN", row.c_str(), kForms[static_cast<int>(node.form)],
                               names.release(), args.release(), static_cast<int>(node.given),
                               ids_of(node.results).release(), changes.release(),
                               node.random ? Py_True : Py_False, node.where.c_str(),
                               words_of(op).release()));
}

PyObject* parts(PyObject* self, PyObject*) {
  return guarded([&] {
    const Graph& graph = graph_of(self);
    Owned vars = checked(PyList_New(0)), nodes = checked(PyList_New(0)),
          writes = checked(PyList_New(0));
    for (const capture::Var& var : graph.vars)
      checked(PyList_Append(vars.get(), var_object(var).get()));
    for (const capture::Node& node : graph.nodes)
      checked(PyList_Append(nodes.get(), node_object(node).get()));
    for (const capture::Write& w : graph.writes)
      checked(PyList_Append(writes.get(), checked(Py_BuildValue("ii", w.target, w.value)).get()));
    return checked(Py_BuildValue("NNNNN", vars.release(), nodes.release(),
                                 ids_of(graph.inputs).release(), ids_of(graph.outputs).release(),
                                 writes.release()))
        .release();
  });
}

PyObject* text(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(graph_of(self).text().c_str()); });
}

PyObject* difference(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    MSA_REQUIRE(Py_IS_TYPE(other, &graph_type), Type, "Graph.difference takes a Graph");
    std::string found;
    if (capture::same(graph_of(self), graph_of(other), found)) return none();
    return PyUnicode_FromString(found.c_str());
  });
}

PyObject* replay(PyObject* self, PyObject* inputs) {
  return guarded(
      [&] { return list_of(capture::replay(graph_of(self), tensors_of(inputs))).release(); });
}

PyObject* split(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t n_inputs, n_outputs;
    if (!PyArg_ParseTuple(args, "nn", &n_inputs, &n_outputs)) throw PythonError();
    const Graph& graph = graph_of(self);
    MSA_REQUIRE(n_inputs >= 0 && static_cast<size_t>(n_inputs) <= graph.inputs.size() &&
                    n_outputs >= 0 && static_cast<size_t>(n_outputs) <= graph.outputs.size(),
                Value, "Graph.split: it has ", graph.inputs.size(), " inputs and ",
                graph.outputs.size(), " outputs, not ", n_inputs, " and ", n_outputs, ".");
    auto [first, second] =
        capture::split(graph, static_cast<size_t>(n_inputs), static_cast<size_t>(n_outputs));
    Owned a = graph_object(std::make_unique<Graph>(std::move(first)));
    Owned b = graph_object(std::make_unique<Graph>(std::move(second)));
    return Py_BuildValue("NN", a.release(), b.release());
  });
}

PyObject* split_draws(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    auto [draws, rest] = capture::split_draws(graph_of(self));
    Owned a = graph_object(std::make_unique<Graph>(std::move(draws)));
    Owned b = graph_object(std::make_unique<Graph>(std::move(rest)));
    return Py_BuildValue("NN", a.release(), b.release());
  });
}

PyMethodDef graph_methods[] = {
    {"text", text, METH_NOARGS, "The graph as text, an operator a line."},
    {"parts", parts, METH_NOARGS, "(values, nodes, inputs, outputs, writes) as lists."},
    {"difference", difference, METH_O,
     "difference(later) -> None, or where a later recording parts from this one"},
    {"split", split, METH_VARARGS,
     "split(n_inputs, n_outputs) -> (graph of the first outputs, graph of the rest)"},
    {"split_draws", split_draws, METH_NOARGS,
     "split_draws() -> (graph of the draws, the rest, which takes them before its inputs)"},
    {"replay", replay, METH_O, "replay(inputs) -> outputs, on our own engine"},
    {},
};

PyTypeObject graph_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "ms_adapter._C.capture.Graph";
  t.tp_basicsize = sizeof(GraphObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  t.tp_dealloc = dealloc;
  t.tp_methods = graph_methods;
  t.tp_doc = "What a recording gave.";
  return t;
}();

// --- recordings ----------------------------------------------------------------------------------

PyObject* start(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* inputs;
    const char* files;
    if (!PyArg_ParseTuple(args, "Os", &inputs, &files)) throw PythonError();
    MSA_REQUIRE(!running, Runtime, "capture: another recording is running in this thread");
    package = files;
    running = std::make_unique<capture::Recorder>(tensors_of(inputs));
    push_layer(running.get());
    return none();
  });
}

PyObject* finish(PyObject*, PyObject* outputs) {
  return guarded([&]() -> PyObject* {
    pop_layer(&recorder());
    const std::unique_ptr<capture::Recorder> done = std::move(running);
    std::unique_ptr<Graph> graph = done->finish(tensors_of(outputs, true));
    if (!graph) return Py_BuildValue("Os", Py_None, done->reason().c_str());
    return Py_BuildValue("NO", graph_object(std::move(graph)).release(), Py_None);
  });
}

PyObject* stop(PyObject*, PyObject*) {
  return guarded([&] {
    pop_layer(&recorder());
    running.reset();
    return none();
  });
}

PyObject* active(PyObject*, PyObject*) { return boolean(running != nullptr); }

PyObject* add_input(PyObject*, PyObject* t) {
  return guarded([&] {
    MSA_REQUIRE(is_tensor(t), Type, "capture: a tensor is needed");
    recorder().add_input(tensor_of(t));
    return none();
  });
}

PyObject* pause(PyObject*, PyObject* on) {
  return guarded([&] {
    recorder().pause(on == Py_True);
    return none();
  });
}

PyObject* refuse(PyObject*, PyObject* reason) {
  return guarded([&] {
    const char* said = PyUnicode_AsUTF8(reason);
    if (!said) throw PythonError();
    recorder().refuse(said);
    return none();
  });
}

PyObject* computed(PyObject*, PyObject* t) {
  return guarded([&] {
    MSA_REQUIRE(is_tensor(t), Type, "capture: a tensor is needed");
    return boolean(recorder().computed(tensor_of(t)));
  });
}

PyObject* captured(PyObject*, PyObject*) {
  return guarded([&] { return list_of(recorder().captured()).release(); });
}

PyMethodDef functions[] = {
    {"start", start, METH_VARARGS,
     "start(inputs, package): records this thread's operators; lines of files in `package` are not "
     "the user's."},
    {"finish", finish, METH_O, "finish(outputs) -> (graph, None) or (None, reason)"},
    {"stop", stop, METH_NOARGS, "Ends the recording without a graph."},
    {"active", active, METH_NOARGS, "Whether this thread records."},
    {"add_input", add_input, METH_O,
     "add_input(tensor): one more input, which the caller fills before each run."},
    {"pause", pause, METH_O, "pause(on): what runs in a pause is not recorded."},
    {"refuse", refuse, METH_O, "refuse(reason): the function cannot be a graph."},
    {"computed", computed, METH_O, "Whether the recorded operators made the tensor's memory."},
    {"captured", captured, METH_NOARGS, "The tensors from outside that were used so far."},
    {},
};

}  // namespace

void init_capture(PyObject* module) {
  checked(PyType_Ready(&graph_type));
  capture::where_hook = user_line;
  add_submodule(module, "capture", functions);
}

}  // namespace msa::py
