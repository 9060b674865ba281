// The optimizers' steps for Python (docs/optimizers.md): lists of tensors in, one pass over each
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
    const Tensor& t = tensor_of(o);
    MSA_REQUIRE(in_host_memory(t.device()), Runtime, op_, ": ", name_, "[", i,
                "] must be a tensor in host memory, not on ", t.device(), ".");
    return t;
  }
  Tensor required(Py_ssize_t i) const {
    const Tensor t = (*this)[i];
    MSA_REQUIRE(t.defined(), Runtime, op_, ": ", name_, "[", i, "] must be a tensor, not None.");
    return t;
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

// A state of one number, float32 or float64, that a step moves on.
class Count {
 public:
  Count(const char* op, Tensor t) : t_(std::move(t)) {
    MSA_REQUIRE((t_.dtype() == DType::F32 || t_.dtype() == DType::F64) && t_.numel() == 1, Runtime,
                op, ": a step count must be a float32 or float64 tensor of one element, but is ",
                t_, ".");
  }
  double get() const { return t_.dtype() == DType::F32 ? *t_.data<float>() : *t_.data<double>(); }
  void set(double value) {
    if (t_.dtype() == DType::F32) {
      *t_.data<float>() = static_cast<float>(value);
    } else {
      *t_.data<double>() = value;
    }
    t_.bump_version();
  }
  // As a tensor's product with a Python number: that is rounded first.
  void multiply(double by) {
    set(t_.dtype() == DType::F32 ? get() * static_cast<double>(static_cast<float>(by))
                                 : get() * by);
  }

 private:
  Tensor t_;
};

// The options of a group by name.
class Options {
 public:
  Options(const char* op, PyObject* dict) : op_(op), dict_(dict) {}
  double operator[](const char* name) const {
    PyObject* value = PyDict_GetItemString(dict_, name);
    MSA_REQUIRE(value, Type, op_, ": the option ", name, " is missing.");
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) throw PythonError();
    return number;
  }
  cpu::StepStart start() const {
    const double decay = (*this)["weight_decay"];
    const bool maximize = (*this)["maximize"] != 0, decoupled = (*this)["decoupled"] != 0;
    if (decoupled) return {maximize, 0, 1 - (*this)["lr"] * decay};
    return {maximize, decay, 1};
  }

 private:
  const char* op_;
  PyObject* dict_;
};

// name(params, grads, columns, counts, options): `columns` holds lists of states, empty where an
// option is off; `counts` lists of one-number states, the first of them the steps done.
template <class Step, class Make>
PyObject* step_each(const char* op, PyObject* args, Make make) {
  return guarded([&]() -> PyObject* {
    PyObject *params, *grads, *columns, *counts, *options;
    if (!PyArg_ParseTuple(args, "OOO!O!O!", &params, &grads, &PyTuple_Type, &columns, &PyTuple_Type,
                          &counts, &PyDict_Type, &options))
      return nullptr;
    const List p(op, "params", params), g(op, "grads", grads);
    g.require_size(p.size());
    std::vector<List> kept, numbers;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(columns); ++k) {
      kept.emplace_back(op, "columns", PyTuple_GET_ITEM(columns, k));
      if (kept.back().size() != 0) kept.back().require_size(p.size());
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(counts); ++k) {
      numbers.emplace_back(op, "counts", PyTuple_GET_ITEM(counts, k));
      numbers.back().require_size(p.size());
    }
    MSA_REQUIRE(kept.size() == Step::kStates && !numbers.empty(), Value, op, ": expected ",
                Step::kStates, " columns of states and the step counts.");
    const Options o(op, options);
    for (Py_ssize_t i = 0; i < p.size(); ++i) {
      std::vector<Count> own;
      for (const List& list : numbers) own.emplace_back(op, list.required(i));
      own[0].set(own[0].get() + 1);
      std::array<Tensor, Step::kStates> states;
      for (size_t k = 0; k < states.size(); ++k)
        if (kept[k].size() != 0) states[k] = kept[k].required(i);
      const Step step = make(o, own[0].get(), own);
      cpu::optim_step(op, step, p.required(i), g.required(i), states);
    }
    return none();
  });
}

using Counts = std::vector<Count>;

PyObject* adam_step(PyObject*, PyObject* args) {
  return step_each<cpu::AdamStep>("adam_step", args, [](const Options& o, double step, Counts&) {
    const double beta1 = o["beta1"], beta2 = o["beta2"];
    return cpu::AdamStep{o.start(),
                         beta1,
                         beta2,
                         o["eps"],
                         o["lr"] / (1 - std::pow(beta1, step)),
                         std::pow(1 - std::pow(beta2, step), 0.5)};
  });
}

PyObject* rmsprop_step(PyObject*, PyObject* args) {
  return step_each<cpu::RmspropStep>("rmsprop_step", args, [](const Options& o, double, Counts&) {
    return cpu::RmspropStep{o.start(), o["lr"], o["alpha"], o["eps"], o["momentum"]};
  });
}

PyObject* adagrad_step(PyObject*, PyObject* args) {
  return step_each<cpu::AdagradStep>(
      "adagrad_step", args, [](const Options& o, double step, Counts&) {
        const double rate = o["lr"] / (1 + (step - 1) * o["lr_decay"]);
        return cpu::AdagradStep{o.start(), rate, o["eps"]};
      });
}

PyObject* adadelta_step(PyObject*, PyObject* args) {
  return step_each<cpu::AdadeltaStep>("adadelta_step", args, [](const Options& o, double, Counts&) {
    return cpu::AdadeltaStep{o.start(), o["lr"], o["rho"], o["eps"]};
  });
}

PyObject* adamax_step(PyObject*, PyObject* args) {
  return step_each<cpu::AdamaxStep>("adamax_step", args,
                                    [](const Options& o, double step, Counts&) {
                                      const double beta1 = o["beta1"];
                                      return cpu::AdamaxStep{o.start(), beta1, o["beta2"], o["eps"],
                                                             o["lr"] / (1 - std::pow(beta1, step))};
                                    });
}

// counts: step, mu_product.
PyObject* nadam_step(PyObject*, PyObject* args) {
  return step_each<cpu::NadamStep>(
      "nadam_step", args, [](const Options& o, double step, Counts& own) {
        const double beta1 = o["beta1"], beta2 = o["beta2"], lr = o["lr"];
        const double decay = o["momentum_decay"];
        const auto momentum = [&](double count) {
          return beta1 * (1.0 - 0.5 * std::pow(0.96, count * decay));
        };
        const double now = momentum(step), ahead = momentum(step + 1);
        own.at(1).multiply(now);
        const double product = own[1].get();
        return cpu::NadamStep{o.start(),
                              beta1,
                              beta2,
                              o["eps"],
                              1 - std::pow(beta2, step),
                              lr * (1.0 - now) / (1.0 - product),
                              lr * ahead / (1.0 - product * ahead)};
      });
}

PyObject* radam_step(PyObject*, PyObject* args) {
  return step_each<cpu::RadamStep>("radam_step", args, [](const Options& o, double step, Counts&) {
    constexpr double kLeastLength = 5;  // of the approximated average, for its variance to be used
    const double beta1 = o["beta1"], beta2 = o["beta2"];
    const double correction2 = 1 - std::pow(beta2, step), longest = 2 / (1 - beta2) - 1;
    const double length = longest - 2 * step * std::pow(beta2, step) / correction2;
    const double gain = (length - 4) * (length - 2) * longest,
                 most = (longest - 4) * (longest - 2) * length;
    return cpu::RadamStep{o.start(),
                          beta1,
                          beta2,
                          o["eps"],
                          o["lr"],
                          1 - std::pow(beta1, step),
                          std::pow(correction2, 0.5),
                          length > kLeastLength ? std::pow(gain / most, 0.5) : 0};
  });
}

// counts: step, eta, mu; the last two serve this step and are then set for the next.
PyObject* asgd_step(PyObject*, PyObject* args) {
  return step_each<cpu::AsgdStep>(
      "asgd_step", args, [](const Options& o, double step, Counts& own) {
        const double lr = o["lr"], lambd = o["lambd"], eta = own.at(1).get(), mu = own.at(2).get();
        own[1].set(lr / std::pow(1 + lambd * lr * step, o["alpha"]));
        own[2].set(1 / std::max(1.0, step - o["t0"]));
        return cpu::AsgdStep{o.start(), 1 - lambd * eta, eta, mu};
      });
}

PyObject* rprop_step(PyObject*, PyObject* args) {
  return step_each<cpu::RpropStep>("rprop_step", args, [](const Options& o, double, Counts&) {
    return cpu::RpropStep{o.start(), o["shrink"], o["grow"], o["least"], o["most"]};
  });
}

// sgd_step(params, grads, buffers, options): SGD counts no steps, and makes its buffers here.
PyObject* sgd_step(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* op = "sgd_step";
    PyObject *params, *grads, *buffers, *options;
    if (!PyArg_ParseTuple(args, "OOOO!", &params, &grads, &buffers, &PyDict_Type, &options))
      return nullptr;
    const List p(op, "params", params), g(op, "grads", grads);
    List b(op, "buffers", buffers);
    g.require_size(p.size());
    b.require_size(p.size());
    const Options o(op, options);
    cpu::SgdStep step{o.start(), o["lr"], o["momentum"], o["dampening"], o["nesterov"] != 0, false};
    for (Py_ssize_t i = 0; i < p.size(); ++i) {
      const Tensor param = p.required(i);
      Tensor buffer = step.momentum != 0 ? b[i] : Tensor();
      step.first = step.momentum != 0 && !buffer.defined();
      if (step.first) {
        buffer = empty_strided(param.sizes(), preserved_strides(param.sizes(), param.strides()),
                               param.dtype());
        b.set(i, buffer);
      }
      cpu::optim_step(op, step, param, g.required(i), {buffer});
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
    {"sgd_step", sgd_step, METH_VARARGS, "A step of SGD on a list of parameters."},
    {"adam_step", adam_step, METH_VARARGS, "A step of Adam or AdamW on a list of parameters."},
    {"rmsprop_step", rmsprop_step, METH_VARARGS, "A step of RMSprop on a list of parameters."},
    {"adagrad_step", adagrad_step, METH_VARARGS, "A step of Adagrad on a list of parameters."},
    {"adadelta_step", adadelta_step, METH_VARARGS, "A step of Adadelta on a list of parameters."},
    {"adamax_step", adamax_step, METH_VARARGS, "A step of Adamax on a list of parameters."},
    {"nadam_step", nadam_step, METH_VARARGS, "A step of NAdam on a list of parameters."},
    {"radam_step", radam_step, METH_VARARGS, "A step of RAdam on a list of parameters."},
    {"asgd_step", asgd_step, METH_VARARGS, "A step of ASGD on a list of parameters."},
    {"rprop_step", rprop_step, METH_VARARGS, "A step of Rprop on a list of parameters."},
    {},
};
PyMethodDef blas_functions[] = {
    {"set_blas_path", set_blas_path, METH_O,
     "Tells where the OpenBLAS library lies; it is opened at first use."},
    {},
};

}  // namespace

void init_optim(PyObject* module) {
  Owned steps = checked(PyModule_New("torch._C.optim"));
  checked(PyModule_AddFunctions(steps.get(), functions));
  checked(PyModule_AddObjectRef(module, "optim", steps.get()));
  checked(PyModule_AddFunctions(module, blas_functions));
}

}  // namespace msa::py
