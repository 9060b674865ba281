// _C.sgd_step and _C.adam_step (docs/optimizers.md): lists of tensors in, one pass over each
// parameter.
#include "bindings/optim.h"

#include <cmath>

#include "bindings/tensor/tensor.h"
#include "core/storage/host_memory.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/optim/steps.h"

namespace msa::py {
namespace {

// A Python list of tensors; an entry of None is an undefined tensor.
class List {
 public:
  List(const char* op, const char* name, PyObject* list) : op_(op), name_(name), list_(list) {
    MSA_REQUIRE(PyList_Check(list), Type, op, ": ", name, " must be a list of tensors, not ",
                Py_TYPE(list)->tp_name, ".");
  }
  Py_ssize_t size() const { return PyList_GET_SIZE(list_); }
  Tensor operator[](Py_ssize_t i) const {
    PyObject* o = PyList_GET_ITEM(list_, i);
    if (o == Py_None) return Tensor();
    MSA_REQUIRE(is_tensor(o), Type, op_, ": ", name_, "[", i, "] must be a tensor, not ",
                Py_TYPE(o)->tp_name, ".");
    return tensor_of(o);
  }
  void set(Py_ssize_t i, const Tensor& t) { checked(PyList_SetItem(list_, i, wrap(t))); }
  void require_size(Py_ssize_t n) const {
    MSA_REQUIRE(size() == n, Value, op_, ": ", name_, " has ", size(), " entries for ", n,
                " parameters.");
  }

 private:
  const char *op_, *name_;
  PyObject* list_;
};

Tensor required(const char* op, const char* name, const Tensor& t) {
  MSA_REQUIRE(t.defined() && in_host_memory(t.device()), Runtime, op, ": ", name,
              " must be a tensor in host memory, not on ", t.defined() ? t.device() : Device{});
  return t;
}

PyObject* sgd_step(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"params",    "grads",        "buffers",  "lr",       "momentum",
                                  "dampening", "weight_decay", "nesterov", "maximize", nullptr};
    PyObject *params, *grads, *buffers;
    double lr, momentum, dampening, weight_decay;
    int nesterov, maximize;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO$ddddpp:sgd_step", const_cast<char**>(names),
                                     &params, &grads, &buffers, &lr, &momentum, &dampening,
                                     &weight_decay, &nesterov, &maximize))
      return nullptr;
    const List p("sgd_step", "params", params), g("sgd_step", "grads", grads);
    List b("sgd_step", "buffers", buffers);
    g.require_size(p.size());
    b.require_size(p.size());
    for (Py_ssize_t i = 0; i < p.size(); ++i) {
      const Tensor param = required("sgd_step", "a parameter", p[i]),
                   grad = required("sgd_step", "a gradient", g[i]);
      Tensor buffer = b[i];
      const bool first = momentum != 0 && !buffer.defined();
      if (first) {
        buffer = empty_strided(param.sizes(), preserved_strides(param.sizes(), param.strides()),
                               param.dtype());
        b.set(i, buffer);
      }
      cpu::sgd_step({lr, momentum, dampening, weight_decay, nesterov != 0, maximize != 0, first},
                    param, grad, momentum != 0 ? buffer : Tensor());
    }
    return none();
  });
}

struct AdamOptions {
  double lr, beta1, beta2, eps, weight_decay;
  int amsgrad, decoupled, maximize;
};

// Adds one to the count and takes from it what is the same for all elements.
cpu::AdamStep advance(const Tensor& count, const AdamOptions& o) {
  MSA_REQUIRE(count.dtype() == DType::F32 && count.numel() == 1, Runtime,
              "adam_step: a step count must be a float32 tensor of one element, but is ", count,
              ".");
  const double step = static_cast<double>(*count.data<float>() += 1);
  count.bump_version();
  return {o.beta1,
          o.beta2,
          o.eps,
          o.decoupled ? 0 : o.weight_decay,
          o.decoupled ? 1 - o.lr * o.weight_decay : 1,
          o.lr / (1 - std::pow(o.beta1, step)),
          std::pow(1 - std::pow(o.beta2, step), 0.5),
          o.maximize != 0};
}

PyObject* adam_step(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"params",          "grads",    "exp_avgs",     "exp_avg_sqs",
                                  "max_exp_avg_sqs", "steps",    "lr",           "beta1",
                                  "beta2",           "eps",      "weight_decay", "amsgrad",
                                  "decoupled",       "maximize", nullptr};
    PyObject *params, *grads, *averages, *squares, *largest, *steps;
    AdamOptions o;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOOO$dddddppp:adam_step",
                                     const_cast<char**>(names), &params, &grads, &averages,
                                     &squares, &largest, &steps, &o.lr, &o.beta1, &o.beta2, &o.eps,
                                     &o.weight_decay, &o.amsgrad, &o.decoupled, &o.maximize))
      return nullptr;
    const char* op = "adam_step";
    const List p(op, "params", params), g(op, "grads", grads), m(op, "exp_avgs", averages),
        v(op, "exp_avg_sqs", squares);
    const List most(op, "max_exp_avg_sqs", largest), counts(op, "steps", steps);
    for (const List* list : {&g, &m, &v, &counts}) list->require_size(p.size());
    if (o.amsgrad) most.require_size(p.size());
    for (Py_ssize_t i = 0; i < p.size(); ++i) {
      const cpu::AdamStep step = advance(required(op, "a step count", counts[i]), o);
      cpu::adam_step(step, required(op, "a parameter", p[i]), required(op, "a gradient", g[i]),
                     required(op, "exp_avg", m[i]), required(op, "exp_avg_sq", v[i]),
                     o.amsgrad ? required(op, "max_exp_avg_sq", most[i]) : Tensor());
    }
    return none();
  });
}

PyObject* set_blas_path(PyObject*, PyObject* path) {
  return guarded([&] {
    Py_ssize_t n;
    const char* text = PyUnicode_AsUTF8AndSize(path, &n);
    if (!text) throw PythonError();
    cpu::blas::set_path(std::string(text, static_cast<size_t>(n)));
    return none();
  });
}

PyMethodDef functions[] = {
    {"sgd_step", keywords(sgd_step), METH_VARARGS | METH_KEYWORDS,
     "One step of SGD on a list of parameters."},
    {"adam_step", keywords(adam_step), METH_VARARGS | METH_KEYWORDS,
     "One step of Adam or AdamW on a list of parameters."},
    {"set_blas_path", set_blas_path, METH_O,
     "Tells where the OpenBLAS library lies; it is opened at first use."},
    {},
};

}  // namespace

void init_optim(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace msa::py
