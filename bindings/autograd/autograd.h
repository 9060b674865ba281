// What the files of the autograd bindings share; the Python side is described in
// docs/autograd.md.
#pragma once
#include "bindings/tensor/tensor.h"
#include "core/autograd/engine.h"
#include "core/autograd/meta.h"
#include "core/autograd/saved.h"

namespace msa::py {

// Adds the submodule `autograd`; needs the tensor type.
void init_autograd(PyObject* module);

// --- parts, each adding its functions and types to the submodule
// -----------------------------------
void init_nodes(PyObject* autograd);
void init_hooks(PyObject* autograd);
void init_modes(PyObject* autograd);
void init_running(PyObject* autograd);
void init_functions(PyObject* autograd);

// --- nodes
// -----------------------------------------------------------------------------------------
bool is_node(PyObject* o);
Node* node_of(PyObject* o);
// The node's object; None for null. New reference.
PyObject* node_object(Node* node);

// The node of an autograd.Function: its backward is a Python callable.
struct FunctionNode final : Node {
  // Lets Python objects refer to the node without keeping it alive.
  struct Handle : Counted {
    Node* node = nullptr;
    static void destroy(Handle* h) { delete h; }
  };
  FunctionNode(PyObject* ctx, PyObject* vjp, std::string name);
  ~FunctionNode() override { handle->node = nullptr; }
  const char* name() const override { return name_.c_str(); }
  void apply(Grads& in, Grads& out) override;
  void release_saved() override;
  bool runs_without_gradients() const override { return true; }

  Owned ctx, vjp;  // vjp(*grads) -> one gradient or None for each edge
  Ref<Handle> handle;

 private:
  std::string name_;
};
FunctionNode* function_node(Node* node);  // null: another kind of node

// --- hooks
// -----------------------------------------------------------------------------------------
int visit_hooks(const NodeHooks& hooks, visitproc visit, void* arg);
// A new dict of the functions that register_hook() put on a tensor, by number; None without any.
PyObject* hooks_of(const Tensor& t);
uint64_t add_node_hook(Node& node, PyObject* function);
uint64_t add_node_prehook(Node& node, PyObject* function);
// hooks(pack, unpack) around saved tensors.
Ref<SavedHooks> make_saved_hooks(PyObject* pack, PyObject* unpack);

// --- arguments
// -------------------------------------------------------------------------------------
void require_args(const char* who, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most);
Tensor& require_tensor(const char* who, PyObject* o);
// Gradients as a tuple, None for undefined ones; and back.
Owned tuple_of(const Grads& grads);
void read_gradient(const char* who, PyObject* o, Tensor& grad);

using Fast = PyObject* (*)(PyObject* const* args, Py_ssize_t n);
// A module function around `body`, which raises C++ exceptions.
template <Fast body>
PyObject* fast_entry(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] { return body(args, n); });
}
template <Fast body>
PyMethodDef function(const char* name, const char* doc) {
  return {name, fastcall(fast_entry<body>), METH_FASTCALL, doc};
}

}  // namespace msa::py
