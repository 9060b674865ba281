// autograd.Function: the node that calls Python's backward, and how its outputs get their history.
#include <algorithm>

#include "bindings/autograd/autograd.h"
#include "core/base/warn.h"

namespace msa::py {

FunctionNode::FunctionNode(PyObject* c, PyObject* v, std::string n)
    : ctx(Owned::borrow(c)), vjp(Owned::borrow(v)), handle(new Handle), name_(std::move(n)) {
  handle->node = this;
}

FunctionNode* function_node(Node* node) { return dynamic_cast<FunctionNode*>(node); }

void FunctionNode::apply(Grads& in, Grads& out) {
  Owned args = tuple_of(in);
  Owned result = checked(PyObject_CallObject(vjp.get(), args.get()));
  MSA_REQUIRE(PyTuple_Check(result.get()) &&
                  PyTuple_GET_SIZE(result.get()) == static_cast<Py_ssize_t>(out.size()),
              Runtime, "function ", name_, " returned an incorrect number of gradients, expected ",
              out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    PyObject* grad = PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i));
    if (grad != Py_None && next[i].node) read_gradient(name_.c_str(), grad, out[i]);
  }
}

void FunctionNode::release_saved() {
  Owned done = checked(PyObject_CallMethod(ctx.get(), "_release", nullptr));
}

namespace {

// --- what a custom function's outputs become
// --------------------------------------------------------------

bool contains(PyObject* tuple, PyObject* o) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    if (PyTuple_GET_ITEM(tuple, i) == o) return true;
  return false;
}

struct Application {
  PyObject *inputs, *outputs, *dirty, *non_differentiable;  // tuples
  Ref<Node> node;                                           // null: not recorded

  // Output `o`, with its place in the graph.
  Owned output(PyObject* o) const;
  Owned without_gradient(PyObject* o, bool is_input) const;
  void changed_in_place(Tensor& t, bool is_input) const;
};

Owned Application::without_gradient(PyObject* o, bool is_input) const {
  node->outputs.push_back({});
  Tensor& t = tensor_of(o);
  if (!t.requires_grad()) return Owned::borrow(o);
  if (is_input) return Owned(wrap(detach(t)));
  if (!is_view(t)) detach_(t);
  return Owned::borrow(o);
}

void Application::changed_in_place(Tensor& t, bool is_input) const {
  MSA_REQUIRE(!t.is_leaf() || !t.requires_grad(), Runtime,
              "a leaf Variable that requires grad has been used in an in-place operation.");
  if (!is_input)
    warn("Only input Tensors should be given to ctx.mark_dirty(): other outputs need no mark.");
  MSA_REQUIRE(!is_view(t) || PyTuple_GET_SIZE(outputs) == 1, Runtime,
              "If your Function modifies inplace an input that is a view of another Tensor, your "
              "Function cannot return "
              "more than one Tensor: change a clone of it.");
  rebase_history(t, node);
}

Owned Application::output(PyObject* o) const {
  if (o == Py_None) {
    if (node) node->outputs.push_back({});
    return Owned::borrow(o);
  }
  if (!node) return Owned::borrow(o);
  Tensor& t = require_tensor("record_function", o);
  const bool is_input = contains(inputs, o), is_dirty = contains(dirty, o);
  if (contains(non_differentiable, o) || !is_inexact(t.dtype()))
    return without_gradient(o, is_input);
  if (is_dirty) {
    changed_in_place(t, is_input);
    return Owned::borrow(o);
  }
  Owned result = Owned::borrow(o);
  if (is_input) {  // returned as it came: a view of it gets the new history
    GradMode off(false);
    result = Owned(wrap(make_view(t, t.layout())));
  }
  Tensor& made = tensor_of(result.get());
  if (is_view(made)) made->meta->view_origin = ViewOrigin::CustomFunction;
  set_history(made, node);
  return result;
}

PyObject* record_function(PyObject* const* args, Py_ssize_t n) {
  require_args("record_function", n, 7, 7);
  for (int i : {2, 3, 5, 6})
    MSA_REQUIRE(PyTuple_Check(args[i]), Type, "record_function: argument ", i, " must be a tuple");
  Application call{args[2], args[3], args[5], args[6], {}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.dirty); ++i)
    MSA_REQUIRE(contains(call.outputs, PyTuple_GET_ITEM(call.dirty, i)), Runtime,
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that "
                "are modified inplace must all be outputs of the Function.");
  const char* name = PyUnicode_AsUTF8(args[1]);
  if (!name) throw PythonError();

  bool record = false;
  const Py_ssize_t n_inputs = PyTuple_GET_SIZE(call.inputs);
  for (Py_ssize_t i = 0; i < n_inputs; ++i)
    record |= must_record(require_tensor("record_function", PyTuple_GET_ITEM(call.inputs, i)));
  if (record) {
    call.node = Ref<Node>(new FunctionNode(args[0], args[4], name));
    for (Py_ssize_t i = 0; i < n_inputs; ++i)
      call.node->next.push_back(gradient_edge(tensor_of(PyTuple_GET_ITEM(call.inputs, i))));
  }
  const Py_ssize_t n_outputs = PyTuple_GET_SIZE(call.outputs);
  Owned outputs = checked(PyTuple_New(n_outputs));
  for (Py_ssize_t i = 0; i < n_outputs; ++i)
    PyTuple_SET_ITEM(outputs.get(), i, call.output(PyTuple_GET_ITEM(call.outputs, i)).release());
  Owned node(node_object(call.node.get()));
  return PyTuple_Pack(2, outputs.get(), node.get());
}

PyMethodDef functions[] = {
    function<record_function>("record_function",
                              "record_function(ctx, name, inputs, outputs, vjp, dirty, "
                              "non_differentiable) -> (outputs, node)"),
    {},
};

// --- SavedTensor
// -------------------------------------------------------------------------------------------

struct SavedObject {
  PyObject_HEAD SavedTensor saved;
  Ref<FunctionNode::Handle> owner;  // null unless the tensor is an output of that node
};

SavedObject& saved_of(PyObject* self) { return *reinterpret_cast<SavedObject*>(self); }

PyObject* saved_new(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    require_args("SavedTensor", PyTuple_GET_SIZE(args), 1, 2);
    const Tensor& t = require_tensor("SavedTensor", PyTuple_GET_ITEM(args, 0));
    PyObject* node = PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, 1) : Py_None;
    FunctionNode* owner = is_node(node) ? function_node(node_of(node)) : nullptr;
    SavedTensor saved(t, owner != nullptr, owner ? t->meta->output_nr : 0);
    Owned object = checked(type->tp_alloc(type, 0));
    new (&saved_of(object.get()).saved) SavedTensor(std::move(saved));
    new (&saved_of(object.get()).owner)
        Ref<FunctionNode::Handle>(owner ? owner->handle : Ref<FunctionNode::Handle>());
    return object.release();
  });
}

void saved_dealloc(PyObject* self) {
  saved_of(self).saved.~SavedTensor();
  saved_of(self).owner.~Ref();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* saved_unpack(PyObject* self, PyObject*) {
  return guarded([&] {
    SavedObject& o = saved_of(self);
    return wrap(o.saved.unpack(o.owner ? o.owner->node : nullptr, true));
  });
}

PyObject* saved_clear(PyObject* self, PyObject*) {
  saved_of(self).saved.reset();
  return none();
}

PyObject* saved_register_hooks(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    require_args("register_hooks", n, 2, 2);
    saved_of(self).saved.register_hooks(make_saved_hooks(args[0], args[1]));
    return none();
  });
}

PyMethodDef saved_methods[] = {
    {"unpack", saved_unpack, METH_NOARGS,
     "The tensor; raises when it was changed in place since, or freed."},
    {"clear", saved_clear, METH_NOARGS, "Frees the tensor."},
    {"register_hooks", fastcall(saved_register_hooks), METH_FASTCALL,
     "register_hooks(pack, unpack)"},
    {},
};

PyType_Slot saved_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(saved_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(saved_dealloc)},
    {Py_tp_methods, saved_methods},
    {Py_tp_doc, const_cast<char*>(
                    "SavedTensor(tensor, node=None): a tensor kept for backward; `node` made it.")},
    {0, nullptr},
};
PyType_Spec saved_spec{"torch._C._autograd.SavedTensor", sizeof(SavedObject), 0, Py_TPFLAGS_DEFAULT,
                       saved_slots};

}  // namespace

void init_functions(PyObject* autograd) {
  checked(PyModule_AddFunctions(autograd, functions));
  Owned type = checked(PyType_FromSpec(&saved_spec));
  checked(PyModule_AddObjectRef(autograd, "SavedTensor", type.get()));
}

}  // namespace msa::py
