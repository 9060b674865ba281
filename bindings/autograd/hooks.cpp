// Python callables as hooks: on tensors, on nodes, around what is saved for backward.
#include <unordered_map>

#include "bindings/autograd/autograd.h"
#include "bindings/owned_by_thread.h"

namespace msa::py {

namespace {

// fn(gradient) of one tensor, or the leaf after accumulation (whose result does not matter).
struct TensorHook final : Hook {
  TensorHook(PyObject* f, bool replaces) : function(Owned::borrow(f)), replaces(replaces) {}
  ~TensorHook() override { live.erase(id); }
  void call(Grads& grads) override {
    if (!function) return;
    Owned arg(wrap(grads[0]));
    Owned result = checked(PyObject_CallOneArg(function.get(), arg.get()));
    if (replaces && result.get() != Py_None) read_gradient("a tensor hook", result.get(), grads[0]);
  }
  // By number: an in-place change gives a tensor another node, from which its hooks are not found.
  static inline std::unordered_map<uint64_t, TensorHook*> live;
  Owned function;  // null: removed
  bool replaces;
  uint64_t id = 0;
};

PyObject* install(std::vector<NodeHooks::Numbered>& list, PyObject* function, bool replaces,
                  uint32_t output) {
  Ref<TensorHook> hook(new TensorHook(function, replaces));
  hook->id = add_hook(list, Ref<Hook>(hook.get()), output);
  TensorHook::live[hook->id] = hook.get();
  return PyLong_FromUnsignedLongLong(hook->id);
}

void replace_all(const char* who, PyObject* result, Grads& grads) {
  if (result == Py_None) return;
  if (grads.size() == 1 && !PyTuple_Check(result)) return read_gradient(who, result, grads[0]);
  MSA_REQUIRE(PyTuple_Check(result), Type, who, " must return None or a tuple of gradients, not ",
              Py_TYPE(result)->tp_name);
  MSA_REQUIRE(PyTuple_GET_SIZE(result) == static_cast<Py_ssize_t>(grads.size()), Runtime, who,
              " has returned an incorrect number of values (got ", PyTuple_GET_SIZE(result),
              ", but expected ", grads.size(), ")");
  for (size_t i = 0; i < grads.size(); ++i)
    read_gradient(who, PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i)), grads[i]);
}

// fn(grad_outputs) before a node runs, fn(grad_inputs, grad_outputs) after it.
struct NodeHook final : Hook {
  explicit NodeHook(PyObject* f) : function(Owned::borrow(f)) {}
  void call(Grads& grads) override {
    Owned args = tuple_of(grads);
    Owned result = checked(PyObject_CallOneArg(function.get(), args.get()));
    replace_all("a node's prehook", result.get(), grads);
  }
  void call_post(Grads& outputs, const Grads& inputs) override {
    Owned grad_inputs = tuple_of(outputs), grad_outputs = tuple_of(inputs);
    Owned result = checked(PyObject_CallFunctionObjArgs(function.get(), grad_inputs.get(),
                                                        grad_outputs.get(), nullptr));
    replace_all("a node's hook", result.get(), outputs);
  }
  Owned function;
};

struct PackHooks final : SavedHooks {
  PackHooks(PyObject* pack, PyObject* unpack) : pack_(pack), unpack_(unpack) {}
  void* pack(const Tensor& t) override {
    Owned arg(wrap(t));
    return checked(PyObject_CallOneArg(pack_.get(), arg.get())).release();
  }
  Tensor unpack(void* packed) override {
    Owned result = checked(PyObject_CallOneArg(unpack_.get(), static_cast<PyObject*>(packed)));
    MSA_REQUIRE(
        is_tensor(result.get()), Type,
        "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
        Py_TYPE(result.get())->tp_name);
    return tensor_of(result.get());
  }
  void drop(void* packed) override { Py_DECREF(static_cast<PyObject*>(packed)); }
  OwnedByThread pack_, unpack_;
};

// --- module functions
// --------------------------------------------------------------------------------

PyObject* add_tensor_hook(PyObject* const* args, Py_ssize_t n) {
  require_args("add_tensor_hook", n, 2, 2);
  const Tensor& t = require_tensor("add_tensor_hook", args[0]);
  Ref<Node> node = hook_target(t);
  return install(node->ensure_hooks().tensor, args[1], true, gradient_edge(t).input);
}

PyObject* add_post_accumulate_hook(PyObject* const* args, Py_ssize_t n) {
  require_args("add_post_accumulate_hook", n, 2, 2);
  const Tensor& t = require_tensor("add_post_accumulate_hook", args[0]);
  MSA_REQUIRE(t.is_leaf(), Runtime,
              "post accumulate grad hooks cannot be registered on non-leaf tensors");
  Ref<Node> node = hook_target(t);
  return install(node->ensure_hooks().post_accumulate, args[1], false, 0);
}

PyObject* remove_tensor_hook(PyObject* const* args, Py_ssize_t n) {
  require_args("remove_tensor_hook", n, 2, 2);
  const Tensor& t = require_tensor("remove_tensor_hook", args[0]);
  const uint64_t id = PyLong_AsUnsignedLongLong(args[1]);
  if (PyErr_Occurred()) throw PythonError();
  auto found = TensorHook::live.find(id);
  if (found == TensorHook::live.end()) return none();
  Owned gone = std::move(found->second->function);
  Ref<Node> node = t.requires_grad() ? gradient_edge(t).node : Ref<Node>();
  if (node && node->hooks) remove_hook(*node->hooks, id);
  return none();
}

PyObject* push_hooks(PyObject* const* args, Py_ssize_t n) {
  require_args("push_saved_hooks", n, 2, 2);
  push_saved_hooks(make_saved_hooks(args[0], args[1]));
  return none();
}
PyObject* pop_hooks(PyObject* const*, Py_ssize_t) {
  pop_saved_hooks();
  return none();
}
PyObject* disable_hooks(PyObject* const* args, Py_ssize_t n) {
  require_args("disable_saved_hooks", n, 1, 1);
  const char* message = PyUnicode_AsUTF8(args[0]);
  if (!message) throw PythonError();
  disable_saved_hooks(message);
  return none();
}
PyObject* enable_hooks(PyObject* const*, Py_ssize_t) {
  disable_saved_hooks("");
  return none();
}
PyObject* hooks_disabled(PyObject* const*, Py_ssize_t) {
  const std::string& message = saved_hooks_disabled();
  return message.empty()
             ? none()
             : PyUnicode_FromStringAndSize(message.data(), static_cast<Py_ssize_t>(message.size()));
}

PyMethodDef functions[] = {
    function<add_tensor_hook>(
        "add_tensor_hook",
        "add_tensor_hook(tensor, fn) -> id: fn(grad) may return another gradient."),
    function<add_post_accumulate_hook>(
        "add_post_accumulate_hook",
        "add_post_accumulate_hook(tensor, fn) -> id: fn(tensor) after its grad was added to."),
    function<remove_tensor_hook>("remove_tensor_hook",
                                 "remove_tensor_hook(tensor, id): unknown ids are ignored."),
    function<push_hooks>(
        "push_saved_hooks",
        "push_saved_hooks(pack, unpack): around all that is saved for backward from here on."),
    function<pop_hooks>("pop_saved_hooks", "Takes back the innermost push_saved_hooks."),
    function<disable_hooks>("disable_saved_hooks",
                            "disable_saved_hooks(message): pushing hooks raises it."),
    function<enable_hooks>("enable_saved_hooks", "Takes back disable_saved_hooks."),
    function<hooks_disabled>("saved_hooks_disabled",
                             "The message of disable_saved_hooks, or None."),
    {},
};

}  // namespace

uint64_t add_node_hook(Node& node, PyObject* f) {
  return add_hook(node.ensure_hooks().post, Ref<Hook>(new NodeHook(f)));
}
uint64_t add_node_prehook(Node& node, PyObject* f) {
  return add_hook(node.ensure_hooks().pre, Ref<Hook>(new NodeHook(f)));
}

PyObject* hooks_of(const Tensor& t) {
  const Edge edge = t.requires_grad() ? gradient_edge(t) : Edge{};
  if (!edge.node || !edge.node->hooks) return none();
  Owned found = checked(PyDict_New());
  for (const auto& numbered : edge.node->hooks->tensor) {
    auto* hook = dynamic_cast<TensorHook*>(numbered.hook.get());
    if (!hook || !hook->function || numbered.output != edge.input) continue;
    Owned id = checked(PyLong_FromUnsignedLongLong(numbered.id));
    if (PyDict_SetItem(found.get(), id.get(), hook->function.get()) < 0) throw PythonError();
  }
  return PyDict_GET_SIZE(found.get()) ? found.release() : none();
}

Ref<SavedHooks> make_saved_hooks(PyObject* pack, PyObject* unpack) {
  MSA_REQUIRE(PyCallable_Check(pack) && PyCallable_Check(unpack), Type,
              "saved-tensor hooks must be callable");
  return Ref<SavedHooks>(new PackHooks(pack, unpack));
}

int visit_hooks(const NodeHooks& hooks, visitproc visit, void* arg) {
  for (auto* list : {&hooks.tensor, &hooks.pre, &hooks.post, &hooks.post_accumulate}) {
    for (const auto& h : *list) {
      if (h.hook->refs != 1) continue;
      if (auto* t = dynamic_cast<TensorHook*>(h.hook.get())) Py_VISIT(t->function.get());
      if (auto* t = dynamic_cast<NodeHook*>(h.hook.get())) Py_VISIT(t->function.get());
    }
  }
  return 0;
}

void init_hooks(PyObject* autograd) { checked(PyModule_AddFunctions(autograd, functions)); }

}  // namespace msa::py
