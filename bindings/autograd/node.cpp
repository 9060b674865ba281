// The Python type of backward nodes, one subtype for each name (AddBackward0 ...).
#include <cstddef>
#include <cstring>
#include <string>
#include <unordered_map>

#include "bindings/autograd/autograd.h"
// After Python.h, which it does not include by itself.
#include <structmember.h>

namespace msa::py {

namespace {

struct NodeObject {
  PyObject_HEAD Ref<Node> node;  // node->python points back while this object lives
  PyObject* weakrefs;
};

PyTypeObject* node_type = nullptr;

Node& of(PyObject* self) { return *reinterpret_cast<NodeObject*>(self)->node; }

void dealloc(PyObject* self) {
  auto* o = reinterpret_cast<NodeObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  if (o->node) o->node->python = nullptr;
  o->node.~Ref();
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Node& node = of(self);
  return node.refs == 1 && visit_node ? visit_node(&node, visit, arg) : 0;
}

// What `node` alone keeps alive, as far as Python can make a cycle of it.
int visit_parts(Node* node, visitproc visit, void* arg) {
  if (FunctionNode* f = function_node(node)) {
    Py_VISIT(f->ctx.get());
    Py_VISIT(f->vjp.get());
  }
  Py_VISIT(static_cast<PyObject*>(node->anomaly));
  return node->hooks ? visit_hooks(*node->hooks, visit, arg) : 0;
}

int clear(PyObject* self) {
  Node& node = of(self);
  if (node.refs != 1) return 0;
  auto hooks = std::move(node.hooks);
  if (FunctionNode* f = function_node(&node)) {
    Owned ctx = std::move(f->ctx), vjp = std::move(f->vjp);
  }
  return 0;
}

// --- attributes
// --------------------------------------------------------------------------------------

PyObject* name(PyObject* self, PyObject*) { return PyUnicode_FromString(of(self).name()); }

PyObject* next_functions(PyObject* self, void*) {
  return guarded([&] {
    const auto& next = of(self).next;
    Owned tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(next.size())));
    for (size_t i = 0; i < next.size(); ++i) {
      Owned node(node_object(next[i].node.get()));
      Owned pair = checked(Py_BuildValue("(OI)", node.get(), next[i].input));
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), pair.release());
    }
    return tuple.release();
  });
}

PyObject* metadata(PyObject* self, void*) {
  Node& node = of(self);
  if (!node.anomaly) node.anomaly = PyDict_New();
  return Py_XNewRef(static_cast<PyObject*>(node.anomaly));
}

PyObject* sequence_nr(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(of(self).sequence);
}

PyObject* context(PyObject* self, void*) {
  FunctionNode* f = function_node(&of(self));
  if (f && f->ctx) return Py_NewRef(f->ctx.get());
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'ctx'", Py_TYPE(self)->tp_name);
  return nullptr;
}

PyObject* variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Tensor leaf = leaf_of(&of(self));
    if (leaf.defined()) return wrap(leaf);
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'",
                 Py_TYPE(self)->tp_name);
    return nullptr;
  });
}

PyObject* add_hook_method(PyObject* self, PyObject* f) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(add_node_hook(of(self), f)); });
}
PyObject* add_prehook_method(PyObject* self, PyObject* f) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(add_node_prehook(of(self), f)); });
}
PyObject* remove_hook_method(PyObject* self, PyObject* number) {
  const uint64_t id = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return nullptr;
  if (of(self).hooks) remove_hook(*of(self).hooks, id);
  return none();
}

PyMethodDef methods[] = {
    {"name", name, METH_NOARGS, "The node's name, such as 'AddBackward0'."},
    {"_sequence_nr", sequence_nr, METH_NOARGS, "Counts up over nodes; later ones run first."},
    {"add_hook", add_hook_method, METH_O,
     "add_hook(fn) -> id: fn(grad_inputs, grad_outputs) after the node ran."},
    {"add_prehook", add_prehook_method, METH_O,
     "add_prehook(fn) -> id: fn(grad_outputs) before the node runs."},
    {"remove_hook", remove_hook_method, METH_O, "remove_hook(id)"},
    {},
};

PyGetSetDef properties[] = {
    {"next_functions", next_functions, nullptr,
     "The nodes that gradients go to: (node or None, its input's number).", nullptr},
    {"metadata", metadata, nullptr,
     "A dict for notes; anomaly mode keeps the forward traceback here.", nullptr},
    {"sequence_nr", [](PyObject* self, void*) { return sequence_nr(self, nullptr); }, nullptr,
     "Counts up over nodes; later ones run first.", nullptr},
    {"ctx", context, nullptr, "The context of an autograd.Function.", nullptr},
    {"variable", variable, nullptr, "The leaf that an AccumulateGrad adds to.", nullptr},
    {},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NodeObject, weakrefs), READONLY, nullptr},
    {},
};

PyTypeObject* make_type(const char* name, PyTypeObject* base) {
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_methods, base ? nullptr : methods},
      {Py_tp_getset, base ? nullptr : properties},
      {Py_tp_members, members},
      {0, nullptr},
  };
  if (base) slots[3] = {0, nullptr};
  PyType_Spec spec{name, sizeof(NodeObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  Owned bases = base ? checked(PyTuple_Pack(1, as_object(base))) : Owned();
  return as_type(checked(PyType_FromSpecWithBases(&spec, bases.get())).release());
}

// The subtype for nodes of this name; PyTorch shows "AccumulateGrad", not its namespace.
PyTypeObject* type_named(const char* name) {
  static auto& types = *new std::unordered_map<std::string, PyTypeObject*>;
  PyTypeObject*& type = types[name];
  if (!type) {
    const char* last = std::strrchr(name, ':');
    // Python before 3.12 keeps the spec's name: it must outlive the type.
    auto* full = new std::string("builtins.");
    type = make_type(full->append(last ? last + 1 : name).c_str(), node_type);
    // The module is needed to make the type; shown, it would be in every repr and error.
    type->tp_name = full->c_str() + std::strlen("builtins.");
  }
  return type;
}

PyObject* install_node_methods(PyObject*, PyObject* attributes) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  if (!PyDict_Check(attributes))
    return PyErr_Format(PyExc_TypeError, "install_node_methods: expected a dict");
  while (PyDict_Next(attributes, &at, &key, &value))
    if (PyObject_SetAttr(as_object(node_type), key, value) < 0) return nullptr;
  return none();
}

PyMethodDef functions[] = {
    {"install_node_methods", install_node_methods, METH_O,
     "install_node_methods(dict): attributes for all nodes."},
    {},
};

}  // namespace

bool is_node(PyObject* o) { return PyObject_TypeCheck(o, node_type); }
Node* node_of(PyObject* o) { return &of(o); }

PyObject* node_object(Node* node) {
  if (!node) return none();
  if (node->python) return Py_NewRef(static_cast<PyObject*>(node->python));
  PyTypeObject* type = type_named(node->name());
  Owned object = checked(type->tp_alloc(type, 0));
  auto* o = reinterpret_cast<NodeObject*>(object.get());
  new (&o->node) Ref<Node>(node);
  node->python = o;
  return object.release();
}

void init_nodes(PyObject* autograd) {
  node_type = make_type("torch.autograd.graph.Node", nullptr);
  wrap_node = node_object;
  visit_node = visit_parts;
  checked(PyModule_AddObjectRef(autograd, "Node", as_object(node_type)));
  checked(PyModule_AddFunctions(autograd, functions));
}

}  // namespace msa::py
