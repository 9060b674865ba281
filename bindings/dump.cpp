// Starts and feeds the dump of this thread.
#include "bindings/dump.h"

#include <memory>
#include <regex>
#include <string>

#include "bindings/native_function.h"
#include "core/dump/recorder.h"

namespace msa::py {

namespace {

thread_local std::unique_ptr<dump::Recorder> running;

dump::Recorder& recorder() {
  MSA_REQUIRE(running, Runtime, "dump: none is running in this thread");
  return *running;
}

PyObject* start(PyObject*, PyObject* args) {
  return guarded([&] {
    dump::Options o;
    int operators, elements, inputs, outputs, graph, watch;
    const char* names;
    unsigned long long most_bytes;
    if (!PyArg_ParseTuple(args, "pppppisK", &operators, &elements, &inputs, &outputs, &graph,
                          &watch, &names, &most_bytes))
      throw PythonError();
    MSA_REQUIRE(!running, Runtime, "dump: another one is running in this thread");
    MSA_REQUIRE(watch >= 0 && watch <= 2, Value, "dump: no such watch: ", watch);
    o.operators = operators;
    o.elements = elements;
    o.inputs = inputs;
    o.outputs = outputs;
    o.graph = graph;
    o.watch = static_cast<dump::Watch>(watch);
    o.names = names;
    o.most_bytes = most_bytes;
    try {
      running = std::make_unique<dump::Recorder>(std::move(o));
    } catch (const std::regex_error& e) {
      fail(ErrorKind::Value, "dump: ", names, " is no regular expression: ", e.what());
    }
    push_layer(running.get());
    return none();
  });
}

PyObject* stop(PyObject*, PyObject*) {
  return guarded([&] {
    pop_layer(&recorder());
    const std::unique_ptr<dump::Recorder> done = std::move(running);
    done->flush();
    return none();
  });
}

PyObject* set_folder(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* folder;
    if (!PyArg_ParseTuple(args, "s", &folder)) throw PythonError();
    recorder().set_folder(folder);
    return none();
  });
}

// The path of the module that runs from here on; that before.
PyObject* set_module(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* path;
    if (!PyArg_ParseTuple(args, "s", &path)) throw PythonError();
    Owned before = checked(PyUnicode_FromString(recorder().module().c_str()));
    recorder().set_module(path);
    return before.release();
  });
}

PyObject* tensor(PyObject*, PyObject* args) {
  return guarded([&] {
    const char *type, *name, *side;
    int slot;
    PyObject* t;
    if (!PyArg_ParseTuple(args, "sssiO", &type, &name, &side, &slot, &t)) throw PythonError();
    MSA_REQUIRE(is_tensor(t), Type, "dump: a tensor is needed");
    recorder().tensor(type, name, side, slot, tensor_of(t));
    return none();
  });
}

PyObject* flush(PyObject*, PyObject*) {
  return guarded([&] {
    recorder().flush();
    return none();
  });
}

PyObject* statistics(PyObject*, PyObject* t) {
  return guarded([&] {
    MSA_REQUIRE(is_tensor(t), Type, "dump: a tensor is needed");
    const dump::Statistics s = dump::statistics(tensor_of(t));
    return Py_BuildValue("{sL sL sL sL sL sd sd sd sd sI}", "count",
                         static_cast<long long>(s.count), "nan", static_cast<long long>(s.nan),
                         "positive_inf", static_cast<long long>(s.positive_inf), "negative_inf",
                         static_cast<long long>(s.negative_inf), "zero",
                         static_cast<long long>(s.zero), "minimum", s.minimum, "maximum", s.maximum,
                         "mean", s.mean, "l2", s.l2, "crc32", s.crc32);
  });
}

PyMethodDef functions[] = {
    {"start", start, METH_VARARGS,
     "start(operators, elements, inputs, outputs, graph, watch, names, most_bytes): dumps what "
     "this "
     "thread computes from here on."},
    {"stop", stop, METH_NOARGS, "Ends the dump and waits until it is written."},
    {"set_folder", set_folder, METH_VARARGS, "set_folder(path): what follows is written there."},
    {"set_module", set_module, METH_VARARGS,
     "set_module(path): the module that runs; that before."},
    {"tensor", tensor, METH_VARARGS, "tensor(type, name, side, slot, tensor): dumps one tensor."},
    {"flush", flush, METH_NOARGS, "Waits until all is written."},
    {"statistics", statistics, METH_O, "statistics(tensor): the figures that dumps have."},
    {},
};

}  // namespace

void init_dump(PyObject* module) { add_submodule(module, "dump", functions); }

}  // namespace msa::py
