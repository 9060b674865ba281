// The thread's autograd modes for Python, and anomaly mode's tracebacks.
#include "bindings/autograd/autograd.h"
#include "core/dispatch/thread_state.h"

namespace msa::py {

namespace {

bool flag(const char* who, PyObject* o) {
  MSA_REQUIRE(PyBool_Check(o), Type, who, "(): argument must be bool, not ", Py_TYPE(o)->tp_name);
  return o == Py_True;
}

template <bool ThreadState::*state>
PyObject* read_state(PyObject* const*, Py_ssize_t) {
  return boolean(thread_state.*state);
}
PyObject* set_grad_enabled(PyObject* const* args, Py_ssize_t n) {
  require_args("set_grad_enabled", n, 1, 1);
  thread_state.grad_enabled = flag("set_grad_enabled", args[0]);
  return none();
}
PyObject* set_inference_mode(PyObject* const* args, Py_ssize_t n) {
  require_args("set_inference_mode", n, 1, 1);
  thread_state.inference_mode = flag("set_inference_mode", args[0]);
  return none();
}
PyObject* set_anomaly(PyObject* const* args, Py_ssize_t n) {
  require_args("set_anomaly", n, 2, 2);
  const bool enabled = flag("set_anomaly", args[0]), check_nan = flag("set_anomaly", args[1]);
  thread_state.anomaly = enabled;
  thread_state.anomaly_check_nan = check_nan;
  return none();
}

PyMethodDef functions[] = {
    function<read_state<&ThreadState::grad_enabled>>(
        "is_grad_enabled", "Whether operators record a graph in this thread."),
    function<set_grad_enabled>("set_grad_enabled", "set_grad_enabled(bool)"),
    function<read_state<&ThreadState::inference_mode>>(
        "is_inference_mode_enabled", "Whether new tensors are inference tensors."),
    function<set_inference_mode>("set_inference_mode", "set_inference_mode(bool)"),
    function<read_state<&ThreadState::anomaly>>("is_anomaly_enabled",
                                                "Whether nodes remember where they were recorded."),
    function<read_state<&ThreadState::anomaly_check_nan>>("is_anomaly_check_nan_enabled",
                                                          "Whether anomaly mode looks for NaN."),
    function<set_anomaly>("set_anomaly", "set_anomaly(enabled, check_nan)"),
    {},
};

// --- anomaly mode: node->anomaly is the node's metadata dict
// ------------------------------------------

// Anomaly mode must not change what the program does: its own errors are dropped.
void capture_place(Node* node) {
  Owned stack, metadata(PyDict_New()), traceback(PyImport_ImportModule("traceback"));
  if (traceback) stack = Owned(PyObject_CallMethod(traceback.get(), "format_stack", nullptr));
  Node* inducer = current_node();
  Owned parent(inducer ? node_object(inducer) : none());
  if (metadata && stack && parent &&
      PyDict_SetItemString(metadata.get(), "traceback_", stack.get()) == 0 &&
      PyDict_SetItemString(metadata.get(), "parent_", parent.get()) == 0)
    node->anomaly = metadata.release();
  PyErr_Clear();
}

void drop_place(Node* node) { Py_CLEAR(*reinterpret_cast<PyObject**>(&node->anomaly)); }

// The forward lines of one node, with what they led to.
bool warn_place(PyObject* metadata, const char* before, const char* name, const char* after) {
  PyObject* stack = metadata ? PyDict_GetItemString(metadata, "traceback_") : nullptr;
  if (!stack) {
    PyErr_WarnFormat(PyExc_UserWarning, 1,
                     "%s%s. No forward pass information available. Enable detect anomaly during "
                     "forward pass for more "
                     "information.",
                     before, name);
    return false;
  }
  Owned empty(PyUnicode_FromString("")),
      lines(empty ? PyUnicode_Join(empty.get(), stack) : nullptr);
  if (lines)
    PyErr_WarnFormat(PyExc_UserWarning, 1, "%s%s. Traceback of forward call that %s:\n%U", before,
                     name, after, lines.get());
  return true;
}

void report_place(const Node* node) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  auto* metadata = static_cast<PyObject*>(node->anomaly);
  bool more = warn_place(metadata, "Error detected in ", node->name(), "caused the error");
  while (more && !PyErr_Occurred()) {
    PyObject* parent = PyDict_GetItemString(metadata, "parent_");
    if (!parent || !is_node(parent)) break;
    node = node_of(parent);
    metadata = static_cast<PyObject*>(node->anomaly);
    more = warn_place(metadata, "Previous calculation was induced by ", node->name(),
                      "induced the previous calculation");
  }
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void init_modes(PyObject* autograd) {
  anomaly_hooks = {capture_place, drop_place, report_place};
  checked(PyModule_AddFunctions(autograd, functions));
}

}  // namespace msa::py
