// The submodule _C.transforms: levels of vmap and forward-mode AD, and what the face asks of a
// graph.
#include "bindings/transforms.h"

#include <unordered_set>

#include "bindings/autograd/autograd.h"
#include "core/transforms/batched.h"
#include "core/transforms/forward.h"

namespace msa::py {

namespace {

int64_t integer(PyObject* o) {
  const long long v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}
int level_of(PyObject* o) { return static_cast<int>(integer(o)); }

// --- vmap
// ----------------------------------------------------------------------------------------

PyObject* enter(PyObject* const* args, Py_ssize_t n) {
  require_args("enter_vmap", n, 2, 2);
  const int64_t kind = integer(args[1]);
  MSA_REQUIRE(kind >= 0 && kind <= static_cast<int64_t>(Randomness::Same), Value,
              "enter_vmap: no kind of randomness has the number ", kind);
  enter_vmap(integer(args[0]), static_cast<Randomness>(kind));
  return PyLong_FromLong(vmap_depth());
}
PyObject* leave(PyObject* const*, Py_ssize_t) {
  leave_vmap();
  return none();
}
PyObject* depth(PyObject* const*, Py_ssize_t) { return PyLong_FromLong(vmap_depth()); }
PyObject* batch_size(PyObject* const* args, Py_ssize_t n) {
  require_args("vmap_size", n, 1, 1);
  return PyLong_FromLongLong(vmap_at(level_of(args[0])).size);
}
PyObject* randomness(PyObject* const* args, Py_ssize_t n) {
  require_args("vmap_randomness", n, 1, 1);
  return PyLong_FromLong(static_cast<long>(vmap_at(level_of(args[0])).randomness));
}
PyObject* batch(PyObject* const* args, Py_ssize_t n) {
  require_args("batch", n, 3, 3);
  const Tensor& t = require_tensor("batch", args[0]);
  return wrap(make_batched(t, wrap_dim(integer(args[1]), t.dim()), level_of(args[2])));
}
// (value, batch dimension or None) of a tensor in the vmap at a level.
PyObject* unbatch(PyObject* const* args, Py_ssize_t n) {
  require_args("unbatch", n, 2, 2);
  const Operand operand = operand_at(require_tensor("unbatch", args[0]), level_of(args[1]));
  Owned value(wrap(operand.value));
  Owned dim(operand.batched() ? PyLong_FromLongLong(operand.dim) : none());
  return PyTuple_Pack(2, value.get(), dim.get());
}
PyObject* level(PyObject* const* args, Py_ssize_t n) {
  require_args("vmap_level", n, 1, 1);
  const Tensor& t = require_tensor("vmap_level", args[0]);
  return PyLong_FromLong(is_batched(t) ? batched_parts(t).level : 0);
}

// Until step_back, calls are those of what is outside the vmap at a level.
PyObject* step_outside(PyObject* const* args, Py_ssize_t n) {
  require_args("step_outside", n, 1, 1);
  auto* below = new BelowVmap(level_of(args[0]));
  return checked(PyCapsule_New(below, nullptr, nullptr)).release();
}
PyObject* step_back(PyObject* const* args, Py_ssize_t n) {
  require_args("step_back", n, 1, 1);
  delete static_cast<BelowVmap*>(PyCapsule_GetPointer(args[0], nullptr));
  return none();
}

// --- forward-mode AD
// -----------------------------------------------------------------------------

PyObject* enter_dual(PyObject* const*, Py_ssize_t) { return PyLong_FromLong(enter_dual_level()); }
PyObject* leave_dual(PyObject* const*, Py_ssize_t) {
  leave_dual_level();
  return none();
}
PyObject* dual_levels(PyObject* const*, Py_ssize_t) { return PyLong_FromLong(dual_depth()); }
PyObject* dual(PyObject* const* args, Py_ssize_t n) {
  require_args("make_dual", n, 3, 3);
  return wrap(make_dual(require_tensor("make_dual", args[0]), require_tensor("make_dual", args[1]),
                        level_of(args[2])));
}
PyObject* undual(PyObject* const* args, Py_ssize_t n) {
  require_args("unpack_dual", n, 2, 2);
  const Tensor& t = require_tensor("unpack_dual", args[0]);
  Owned primal(wrap(primal_of(t, level_of(args[1]))));
  Owned tangent(wrap(tangent_of(t, level_of(args[1]))));
  return PyTuple_Pack(2, primal.get(), tangent.get());
}
PyObject* give_tangent(PyObject* const* args, Py_ssize_t n) {
  require_args("set_tangent", n, 3, 3);
  set_tangent(require_tensor("set_tangent", args[0]), require_tensor("set_tangent", args[1]),
              level_of(args[2]));
  return none();
}
PyObject* tangent(PyObject* const* args, Py_ssize_t n) {
  require_args("tangent", n, 2, 2);
  return wrap(tangent_of(require_tensor("tangent", args[0]), level_of(args[1])));
}
PyObject* is_tangents_enabled(PyObject* const*, Py_ssize_t) { return boolean(tangents_enabled()); }
PyObject* set_tangents_enabled(PyObject* const* args, Py_ssize_t n) {
  require_args("set_tangents_enabled", n, 1, 1);
  enable_tangents(args[0] == Py_True);
  return none();
}

// --- gradients
// -----------------------------------------------------------------------------------

// The tensor to differentiate by: connected to its own graph, its tangents kept.
PyObject* fresh(PyObject* const* args, Py_ssize_t n) {
  require_args("fresh", n, 1, 1);
  return wrap(fresh_input(require_tensor("fresh", args[0])));
}

// Whether the tensor has a history, or its values below a vmap do.
bool tracks(const Tensor& t) {
  return t.requires_grad() || (is_batched(t) && tracks(batched_parts(t).value));
}
PyObject* is_tracked(PyObject* const* args, Py_ssize_t n) {
  require_args("tracks", n, 1, 1);
  return boolean(tracks(require_tensor("tracks", args[0])));
}
// The tensor without its own history, its tangents kept.
PyObject* settle(PyObject* const* args, Py_ssize_t n) {
  require_args("settle", n, 1, 1);
  const Tensor& t = require_tensor("settle", args[0]);
  return wrap(t.requires_grad() ? without_history(t) : t);
}

// Whether the graph of `outputs` ends in any leaf besides `inputs`, or the outputs' values below a
// vmap have a graph: then their gradients must have one too.
bool hangs_on_others(PyObject* outputs, PyObject* inputs) {
  std::unordered_set<const Node*> seen;
  std::vector<Node*> rest;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i)
    seen.insert(
        gradient_edge(require_tensor("hangs_on_others", PyTuple_GET_ITEM(inputs, i))).node.get());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    const Tensor& t = require_tensor("hangs_on_others", PyTuple_GET_ITEM(outputs, i));
    if (is_batched(t) && tracks(batched_parts(t).value)) return true;
    rest.push_back(gradient_edge(t).node.get());
  }
  while (!rest.empty()) {
    Node* node = rest.back();
    rest.pop_back();
    if (!node || !seen.insert(node).second) continue;
    if (node->is_accumulator()) return true;
    for (const Edge& edge : node->next) rest.push_back(edge.node.get());
  }
  return false;
}
PyObject* others(PyObject* const* args, Py_ssize_t n) {
  require_args("hangs_on_others", n, 2, 2);
  MSA_REQUIRE(PyTuple_Check(args[0]) && PyTuple_Check(args[1]), Type,
              "hangs_on_others: two tuples of tensors are wanted");
  return boolean(hangs_on_others(args[0], args[1]));
}

PyMethodDef functions[] = {
    function<enter>("enter_vmap", "enter_vmap(size, randomness) -> level"),
    function<leave>("leave_vmap", "Leaves the innermost vmap."),
    function<depth>("vmap_depth", "How many vmaps this thread is in."),
    function<batch_size>("vmap_size", "vmap_size(level): its number of examples."),
    function<randomness>("vmap_randomness",
                         "vmap_randomness(level): 0 error, 1 different, 2 same."),
    function<batch>("batch", "batch(tensor, dim, level): what a function under vmap sees."),
    function<unbatch>("unbatch", "unbatch(tensor, level) -> (value, dim or None)"),
    function<level>("vmap_level",
                    "The level of the vmap that a batched tensor belongs to, else 0."),
    function<step_outside>("step_outside", "step_outside(level): until step_back(result)."),
    function<step_back>("step_back", "step_back(what step_outside gave)"),
    function<enter_dual>("enter_dual", "Opens a level of forward-mode AD."),
    function<leave_dual>("leave_dual", "Closes the innermost level."),
    function<dual_levels>("dual_depth", "How many levels are open."),
    function<dual>("make_dual", "make_dual(primal, tangent, level)"),
    function<undual>("unpack_dual", "unpack_dual(tensor, level) -> (primal, tangent or None)"),
    function<give_tangent>("set_tangent", "set_tangent(tensor, tangent, level)"),
    function<tangent>("tangent", "tangent(tensor, level) -> tangent or None"),
    function<is_tangents_enabled>("is_tangents_enabled", "Whether operators make tangents."),
    function<set_tangents_enabled>("set_tangents_enabled", "set_tangents_enabled(bool)"),
    function<fresh>("fresh", "The tensor again, to take gradients by."),
    function<is_tracked>("tracks", "Whether a gradient can flow to the tensor, or below a vmap."),
    function<settle>("settle", "The tensor without history; its tangents stay."),
    function<others>("hangs_on_others", "hangs_on_others(outputs, inputs) -> bool"),
    {},
};

}  // namespace

void init_transforms(PyObject* module) {
  static PyModuleDef def{PyModuleDef_HEAD_INIT,
                         "ms_adapter._C.transforms",
                         "The native part of torch.func.",
                         -1,
                         functions,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr};
  Owned transforms = checked(PyModule_Create(&def));
  checked(PyModule_AddObjectRef(module, "transforms", transforms.get()));
}

}  // namespace msa::py
