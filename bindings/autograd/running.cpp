// Running the backward engine from Python.
#include "bindings/autograd/autograd.h"
#include "core/dispatch/opaque.h"
#include "generated/ops_create.h"

namespace msa::py {

namespace {

// A tensor's edge, or that of a GradientEdge: a tuple (node, output_nr, ...).
Edge edge_of(const char* who, PyObject* o) {
  if (is_tensor(o)) return gradient_edge(tensor_of(o));
  MSA_REQUIRE(PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2 && is_node(PyTuple_GET_ITEM(o, 0)), Type,
              who, ": expected a Tensor or a GradientEdge, not ", Py_TYPE(o)->tp_name);
  Node* node = node_of(PyTuple_GET_ITEM(o, 0));
  const long output = PyLong_AsLong(PyTuple_GET_ITEM(o, 1));
  if (PyErr_Occurred()) throw PythonError();
  MSA_REQUIRE(output >= 0 && output < static_cast<long>(node->outputs.size()), Index, who, ": ",
              node->name(), " has ", node->outputs.size(), " outputs, not one with number ",
              output);
  return {Ref<Node>(node), static_cast<uint32_t>(output)};
}

Tensor ones_for(const Edge& edge, PyObject* root) {
  const OutputMeta& output = edge.node->outputs[edge.input];
  GradMode off(false);
  if (output.device.kind == kPythonKind)  // its class makes its tensors
    return ops::ones_like(require_tensor("backward", root));
  Tensor ones = empty(output.sizes, output.dtype, output.device);
  ops::fill_(ones, 1);
  return ones;
}

Edge input_edge(PyObject* o, bool accumulate) {
  Edge edge = edge_of("backward", o);
  MSA_REQUIRE(edge.node, Runtime, "One of the differentiated Tensors does not require grad");
  if (accumulate && is_tensor(o)) retain_grad(tensor_of(o));
  return edge;
}

Owned results_tuple(const std::vector<Tensor>& grads, bool allow_unreachable) {
  for (size_t i = 0; i < grads.size(); ++i)
    MSA_REQUIRE(
        grads[i].defined() || allow_unreachable, Runtime, "The differentiated Tensor at index ", i,
        " appears to not have been used in the graph: allow_unused=True returns None for it.");
  return checked(wrap_tuple(grads));
}

PyObject* run(PyObject* const* args, Py_ssize_t n) {
  require_args("run_backward", n, 7, 8);
  for (int i : {0, 1, 4})
    MSA_REQUIRE(PyTuple_Check(args[i]), Type, "run_backward: argument ", i, " must be a tuple");
  const bool allow_unreachable = args[5] == Py_True;
  const BackwardOptions options{.keep_graph = args[2] == Py_True,
                                .create_graph = args[3] == Py_True,
                                .accumulate = args[6] == Py_True,
                                .hooks_of_inputs = n < 8 || args[7] == Py_True};

  std::vector<Edge> roots, inputs;
  std::vector<Tensor> grads;
  const Py_ssize_t n_roots = PyTuple_GET_SIZE(args[0]);
  MSA_REQUIRE(PyTuple_GET_SIZE(args[1]) == n_roots, Runtime, "got ", n_roots, " tensors and ",
              PyTuple_GET_SIZE(args[1]), " gradients");
  for (Py_ssize_t i = 0; i < n_roots; ++i) {
    roots.push_back(edge_of("backward", PyTuple_GET_ITEM(args[0], i)));
    MSA_REQUIRE(roots.back().node, Runtime, "element ", i,
                " of tensors does not require grad and does not have a grad_fn");
    PyObject* grad = PyTuple_GET_ITEM(args[1], i);
    grads.push_back(grad == Py_None ? ones_for(roots.back(), PyTuple_GET_ITEM(args[0], i))
                                    : require_tensor("backward", grad));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[4]); ++i)
    inputs.push_back(input_edge(PyTuple_GET_ITEM(args[4], i), options.accumulate));

  std::vector<Tensor> results = run_backward(roots, std::move(grads), inputs, options);
  return results_tuple(results, allow_unreachable).release();
}

PyObject* queue(PyObject* const* args, Py_ssize_t n) {
  require_args("queue_callback", n, 1, 1);
  queue_callback([f = Owned::borrow(args[0])] { checked(PyObject_CallNoArgs(f.get())); });
  return none();
}

PyObject* will_run_for(PyObject* const* args, Py_ssize_t n) {
  require_args("will_run", n, 1, 1);
  return boolean(will_run(edge_of("will_run", args[0]).node.get()));
}

// (number, reaches all leaves)
PyObject* pass_now(PyObject* const*, Py_ssize_t) {
  return Py_BuildValue("KO", static_cast<unsigned long long>(current_pass()),
                       reaches_all_leaves() ? Py_True : Py_False);
}

PyObject* edge_node(PyObject* const* args, Py_ssize_t n) {
  require_args("gradient_edge_node", n, 1, 1);
  return node_object(gradient_edge(require_tensor("gradient_edge_node", args[0])).node.get());
}

PyObject* increment_version(PyObject* const* args, Py_ssize_t n) {
  require_args("increment_version", n, 1, 1);
  const Tensor& t = require_tensor("increment_version", args[0]);
  MSA_REQUIRE(!t->inference, Runtime, "increment_version: inference tensors count no versions");
  t.bump_version();
  return none();
}

PyMethodDef functions[] = {
    function<run>("run_backward",
                  "run_backward(tensors, grad_tensors, keep_graph, create_graph, inputs, "
                  "allow_unreachable, accumulate_grad, hooks_of_inputs=True)"),
    function<queue>("queue_callback", "queue_callback(fn): fn() when the running backward ends."),
    function<will_run_for>("will_run", "Whether the running backward reaches the tensor's node."),
    function<pass_now>(
        "current_pass",
        "The running backward's number, 0 for none, and whether it is for all leaves."),
    function<edge_node>("gradient_edge_node", "The node that the tensor's gradient flows to."),
    function<increment_version>("increment_version", "increment_version(tensor)"),
    {},
};

}  // namespace

void init_running(PyObject* autograd) { checked(PyModule_AddFunctions(autograd, functions)); }

}  // namespace msa::py
