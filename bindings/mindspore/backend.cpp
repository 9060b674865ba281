// Runs operators by the callables of another package (MindSpore) that the registry names; what none
// of them serves runs on cpu, over the same memory.
#include "bindings/mindspore/backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/boxed.h"
#include "bindings/convert.h"
#include "bindings/mindspore/host_call.h"
#include "bindings/mindspore/memory.h"
#include "bindings/mindspore/plan.h"
#include "bindings/tensor/tensor.h"
#include "bindings/types/types.h"
#include "core/dispatch/arguments.h"
#include "core/dispatch/generated_support.h"
#include "core/dispatch/saving.h"
#include "core/storage/host_memory.h"
#include "core/storage/stand_in.h"

namespace msa::py {

namespace {

constexpr uint64_t bit(DType t) { return uint64_t{1} << static_cast<int>(t); }

// What the callables see of one call.
struct Operands {
  std::vector<PyObject*> objects;  // owned; the row's parameters in order
  std::vector<Tensor> tensors;
  uint64_t dtypes = 0;
  int n_given = 0;
  bool numbers = false, any_empty = false, any_scalar = false;

  Operands() = default;
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  ~Operands() {
    for (PyObject* o : objects) Py_XDECREF(o);
  }
  // Nothing but tensors, of the result's dtype or, for a result of bools, of one dtype.
  bool uniform(DType result) const {
    constexpr uint64_t halves = bit(DType::F16) | bit(DType::BF16);
    return !numbers && !(dtypes & halves) && n_given == static_cast<int>(tensors.size()) &&
           (dtypes == bit(result) || (result == DType::Bool && (dtypes & (dtypes - 1)) == 0));
  }
};

Owned name_of(const OpInfo& op) {
  return checked(*op.overload ? PyUnicode_FromFormat("%s.%s", op.name, op.overload)
                              : PyUnicode_FromString(op.name));
}

bool inside(const void* address, const Tensor& t) {
  const auto* from = static_cast<const char*>(t->storage->data);
  const auto* at = static_cast<const char*>(address);
  return from && at >= from && at < from + t->storage->bytes;
}

template <class T>
bool any_odd(const Tensor& t) {
  const T* data = t.data<T>();
  for (int64_t i = 0; i < t.numel(); ++i)
    if (!(std::fabs(data[i]) >= std::numeric_limits<T>::min() &&
          std::fabs(data[i]) <= std::numeric_limits<T>::max()))
      return true;
  return false;
}
// Zeros, what is next to zero, infinities and NaN: what approximate loops get wrong.
bool is_odd(const Tensor& t) {
  if (t.dtype() != DType::F32 && t.dtype() != DType::F64) return false;
  if (!t.is_contiguous()) return true;
  return t.dtype() == DType::F32 ? any_odd<float>(t) : any_odd<double>(t);
}

// One thread at a time calls MindSpore, which does not bear several; its callables give the
// interpreter's lock away while they run. Who waits gives it away, too.
class OneAtATime {
 public:
  OneAtATime() {
    if (mutex().try_lock()) return;
    PyThreadState* interpreter = PyEval_SaveThread();
    mutex().lock();
    PyEval_RestoreThread(interpreter);
  }
  ~OneAtATime() { mutex().unlock(); }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

 private:
  // Recursive: an adapter's call may come back here.
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex only;
    return only;
  }
};

class PackageBackend final : public Backend {
 public:
  PackageBackend(Device device, PyObject* package)
      : device_(device),
        package_(Owned::borrow(package)),
        make_handle_(checked(PyObject_GetAttrString(package, "handle"))),
        fell_back_(checked(PyObject_GetAttrString(package, "fell_back"))),
        refuse_(checked(PyObject_GetAttrString(package, "refuse"))) {}

  void call(const OpInfo& op, Form form, const Value* args, Results& results) override {
    if (form == Form::Out) return fill_outputs(op, args, results);
    const OneAtATime turn;
    Plan& plan = plan_of(op);
    if (plan.storage) {
      plan.draws += plan.drawn;
      return on_host(op, form, args, results);
    }
    check_devices(op, args);
    if (form == Form::Inplace) return change(plan, op, args, results);
    if (!serve(plan, op, args, results)) fall_back(plan, op, form, args, results);
  }

  // {row: {callable: calls}}, with "cpu" for what was computed there and "generator" for random
  // numbers; counts begin anew.
  Owned take_counts() {
    Owned all = checked(PyDict_New());
    for (auto& [op, plan] : plans_) {
      Owned row = checked(PyDict_New());
      auto put = [&](PyObject* key, uint64_t& n) {
        if (n)
          checked(PyDict_SetItem(row.get(), key, checked(PyLong_FromUnsignedLongLong(n)).get()));
        n = 0;
      };
      for (Candidate& c : plan->candidates) put(c.path.get(), c.served);
      put(checked(PyUnicode_FromString("cpu")).get(), plan->fallbacks);
      put(checked(PyUnicode_FromString("generator")).get(), plan->draws);
      if (PyDict_GET_SIZE(row.get()) > 0)
        checked(PyDict_SetItem(all.get(), name_of(*op).get(), row.get()));
    }
    return all;
  }

  const DTypeNames& names() {
    if (!names_.from_dtype[0]) load_names();
    return names_;
  }

  // MindSpore's tensor of one here, and the other way: over the same memory, or copied where
  // MindSpore's target has memory of its own.
  Owned handle(const Tensor& t) { return handle_of(t, make_handle_.get(), shares_memory()); }
  Tensor tensor(PyObject* theirs) {
    if (shares_memory()) return taken(theirs, device_, names());
    Owned home = checked(PyObject_CallMethod(package_.get(), "home", "O", theirs));
    return on_shared(tensor_of(home.get()), device_);
  }

 private:
  // Asked at the first use, when MindSpore is there: its target says it.
  bool shares_memory() {
    if (!shares_memory_)
      shares_memory_ =
          checked(PyObject_CallMethod(package_.get(), "shares_memory", nullptr)).get() == Py_True;
    return *shares_memory_;
  }

  Plan& plan_of(const OpInfo& op) {
    auto found = plans_.find(&op);
    return found != plans_.end() ? *found->second : *(plans_[&op] = make_plan(op));
  }

  // package.plan(row, words of its `ms` field) -> (candidates, "storage" or "drawn"; fences)
  std::unique_ptr<Plan> make_plan(const OpInfo& op) {
    auto plan = std::make_unique<Plan>();
    Owned words = checked(PyList_New(0));
    for (const char* const* word = op.ms; word && *word; ++word)
      checked(PyList_Append(words.get(), checked(PyUnicode_FromString(*word)).get()));
    Owned made =
        checked(PyObject_CallMethod(package_.get(), "plan", "OO", name_of(op).get(), words.get()));
    PyObject *candidates, *fences;
    if (!PyArg_ParseTuple(made.get(), "OO", &candidates, &fences)) throw PythonError();
    plan->storage = !PyList_Check(candidates);
    plan->drawn = plan->storage && PyUnicode_CompareWithASCIIString(candidates, "drawn") == 0;
    for (Py_ssize_t i = 0; !plan->storage && i < PyList_GET_SIZE(candidates); ++i) {
      PyObject *path, *function, *adapter;
      int direct, takes_empty, knows_shape;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(candidates, i), "OOOppp", &path, &function, &adapter,
                            &direct, &takes_empty, &knows_shape))
        throw PythonError();
      plan->candidates.push_back({Owned::borrow(path), Owned::borrow(function),
                                  Owned::borrow(adapter), direct != 0, takes_empty != 0,
                                  knows_shape != 0});
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(fences); ++i) {
      PyObject* fence = PyList_GET_ITEM(fences, i);
      if (is_dtype(fence))
        plan->fenced |= bit(dtype_value(fence));
      else if (PyUnicode_CompareWithASCIIString(fence, "empty") == 0)
        plan->fenced_empty = true;
      else if (PyUnicode_CompareWithASCIIString(fence, "odd") == 0)
        plan->careful = true;
      else
        plan->fenced_scalars = true;
    }
    return plan;
  }

  void load_names() {
    Owned pairs = checked(PyObject_CallMethod(package_.get(), "dtypes", nullptr));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs.get()); ++i) {
      PyObject *ours, *theirs;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs.get(), i), "OO", &ours, &theirs))
        throw PythonError();
      names_.from_dtype[static_cast<int>(dtype_value(ours))] = Owned::borrow(theirs);
    }
  }

  // Tensors of two devices meet in no operator, numbers and indices aside.
  void check_devices(const OpInfo& op, const Value* args) const {
    for (int i = 0; i < op.n_params; ++i) {
      if (args[i].tag() != Value::Tag::Tensor) continue;
      const Tensor& t = args[i].tensor();
      MSA_REQUIRE(t.device().kind == device_.kind || (t.device().is_cpu() && t.dim() == 0), Runtime,
                  op.name, ": Expected all tensors to be on the same device, but ",
                  op.params[i].name, " is on ", t.device(), " and others are on ", device_,
                  "; move it with .to(\"", device_, "\").");
    }
  }

  // The result's shapes and dtypes as the row's rules say, or their errors. False: unknown before.
  static bool expect(const OpInfo& op, Form form, const Value* args, Results& expected) {
    try {
      call_on_meta(op, form, args, expected);
      return true;
    } catch (const Error& error) {
      if (error.kind != ErrorKind::NotImplemented) throw;
      return false;
    }
  }

  // The value as the callables take it; false where MindSpore has no such dtype.
  bool add(const Value& v, Operands& to) {
    switch (v.tag()) {
      case Value::Tag::Tensor:
        return add_tensor(v.tensor(), to);
      case Value::Tag::Tensors: {
        Operands list;
        for (const Tensor& t : v.tensors())
          if (!t.defined())
            list.objects.push_back(none());
          else if (!add_tensor(t, list))
            return false;
        Owned tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.objects.size())));
        for (size_t i = 0; i < list.objects.size(); ++i)
          PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                           std::exchange(list.objects[i], nullptr));
        to.objects.push_back(tuple.release());
        for (Tensor& t : list.tensors) to.tensors.push_back(std::move(t));
        to.dtypes |= list.dtypes;
        to.numbers |= list.numbers;
        to.any_empty |= list.any_empty;
        to.any_scalar |= list.any_scalar;
        return true;
      }
      case Value::Tag::DType: {
        PyObject* theirs = names().from_dtype[static_cast<int>(v.dtype())].get();
        if (theirs) to.objects.push_back(Py_NewRef(theirs));
        return theirs != nullptr;
      }
      case Value::Tag::Device:
      case Value::Tag::Format:
        to.objects.push_back(none());
        return true;
      case Value::Tag::Float:
      case Value::Tag::Complex:
      case Value::Tag::Int:
      case Value::Tag::Bool:
      case Value::Tag::None:
      case Value::Tag::Dims:
      case Value::Tag::Floats:
      case Value::Tag::Str:
      case Value::Tag::Generator:
        to.objects.push_back(value_object(v));
        return true;
    }
    __builtin_unreachable();
  }

  bool add_tensor(const Tensor& t, Operands& to) {
    if (t->wrapped_number) {
      to.objects.push_back(scalar_object(item(t)));
      to.numbers = true;
      return true;
    }
    if (!names().from_dtype[static_cast<int>(t.dtype())]) return false;
    to.any_empty |= t.numel() == 0;
    to.any_scalar |= t.dim() == 0;
    to.dtypes |= bit(t.dtype());
    to.objects.push_back(handle(t).release());
    to.tensors.push_back(t);
    return true;
  }

  // Whether a callable gave the results; the row's errors come out as its rules raise them.
  bool serve(Plan& plan, const OpInfo& op, const Value* args, Results& results) {
    if (plan.candidates.empty()) return false;
    Signature signature;
    const bool keeps = signature.of(op, Form::Function, args);
    std::shared_ptr<Known> seen = keeps ? plan.find(signature) : nullptr;
    Results rules;
    const bool known = seen || expect(op, Form::Function, args, rules);
    if (known && keeps && !seen) seen = plan.keep(signature, rules);
    const Results* expected = seen ? &seen->expected : known ? &rules : nullptr;
    if (known && all_empty(*expected) && !saving_row(op)) {  // nothing to compute
      results.kind = expected->kind;
      for (const Tensor& t : expected->tensors)
        results.tensors.push_back(
            empty_strided(t.sizes(), t.strides(), t.dtype(), Device{device_.kind}));
      return true;
    }
    Operands operands;
    operands.objects.reserve(op.n_params);
    operands.n_given = given_count(op, args);
    for (int i = 0; i < op.n_params; ++i)
      if (!add(args[i], operands)) return false;
    if ((operands.dtypes & plan.fenced) || (plan.fenced_empty && operands.any_empty) ||
        (plan.fenced_scalars && operands.any_scalar))
      return false;
    for (size_t i = 0; i < plan.candidates.size(); ++i) {
      Candidate& c = plan.candidates[i];
      if ((!known && c.knows_shape) || (operands.any_empty && !c.takes_empty)) continue;
      if (!plan.refused.empty() && plan.refused.contains({i, operands.dtypes})) continue;
      const bool direct = is_direct(plan, c, operands, expected);
      Owned given = direct
                        ? Owned(PyObject_Vectorcall(c.function.get(), operands.objects.data(),
                                                    static_cast<size_t>(operands.n_given), nullptr))
                        : adapted(c, operands, expected);
      Known* known_layout = direct ? seen.get() : nullptr;
      if (given ? accept(op, given.get(), operands, c, expected, known_layout, results)
                : note_refusal(plan, i, op, operands)) {
        ++c.served;
        return true;
      }
    }
    return false;
  }

  static bool all_empty(const Results& expected) {
    return std::ranges::all_of(expected.tensors, [](const Tensor& t) { return t.numel() == 0; }) &&
           expected.tensors.size() > 0;
  }

  static bool is_direct(const Plan& plan, const Candidate& c, const Operands& operands,
                        const Results* expected) {
    return c.direct && expected && expected->tensors.size() == 1 &&
           operands.uniform(expected->tensors[0].dtype()) &&
           !(plan.careful && std::ranges::any_of(operands.tensors, is_odd));
  }

  // Null with Python's exception set where the callable refuses.
  Owned adapted(const Candidate& c, const Operands& operands, const Results* expected) {
    PyObject* const* objects = operands.objects.data();
    std::vector<PyObject*> all{c.function.get()};
    Owned out = expected ? expected_object(*expected) : Owned(none());
    all.push_back(out.get());
    all.insert(all.end(), objects, objects + operands.n_given);
    return Owned(PyObject_Vectorcall(c.adapter.get(), all.data(), all.size(), nullptr));
  }

  // ((shape, dtype), ...), one for each result
  Owned expected_object(const Results& expected) {
    Owned list = checked(PyTuple_New(static_cast<Py_ssize_t>(expected.tensors.size())));
    for (size_t i = 0; i < expected.tensors.size(); ++i) {
      const Tensor& t = expected.tensors[i];
      Owned shape(value_object(Value(t.sizes())));
      PyObject* dtype = names().from_dtype[static_cast<int>(t.dtype())].get();
      PyTuple_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                       checked(PyTuple_Pack(2, shape.get(), dtype ? dtype : Py_None)).release());
    }
    return list;
  }

  // What a callable gave as the results; false where it is not what the row's rules say.
  bool accept(const OpInfo& op, PyObject* given, const Operands& operands, const Candidate& c,
              const Results* expected, Known* seen, Results& results) {
    if (given == Py_NotImplemented) return false;
    if (seen && seen->laid_out == &c && shares_memory()) {
      results.set(
          own(taken_as(given, device_, seen->layout, seen->expected.tensors[0].dtype()), operands));
      return true;
    }
    if (PyBool_Check(given) || PyLong_Check(given) || PyFloat_Check(given)) {
      read_results(op, given, results);
      return true;
    }
    Results found;
    Layout layout;
    if (PyTuple_Check(given) || PyList_Check(given)) {
      found.kind = PyTuple_Check(given) ? Results::Kind::Tuple : Results::Kind::List;
      Owned items = checked(PySequence_Fast(given, "results"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
        found.tensors.push_back(own(tensor(PySequence_Fast_GET_ITEM(items.get(), i)), operands));
    } else {
      found.kind = Results::Kind::Tensor;
      Tensor t = tensor(given);
      layout = t.layout();
      found.tensors.push_back(own(std::move(t), operands));
    }
    if (expected) {
      if (found.tensors.size() < expected->tensors.size()) return false;
      for (size_t i = 0; i < expected->tensors.size(); ++i)
        if (found.tensors[i].dtype() != expected->tensors[i].dtype() ||
            found.tensors[i].sizes() != expected->tensors[i].sizes())
          return false;
      if (seen && found.kind == Results::Kind::Tensor && expected->kind == Results::Kind::Tensor) {
        seen->laid_out = &c;
        seen->layout = layout;
      }
      found.kind = expected->kind;
    }
    results = std::move(found);
    return true;
  }

  // A result in memory of its own: some callables give their input's.
  Tensor own(Tensor t, const Operands& operands) {
    for (const Tensor& operand : operands.tensors)
      if (inside(t->storage->data, operand)) return on_shared(copied(on_cpu(t)), device_);
    return t;
  }

  // Always false: the next candidate's turn. Interrupts and the like go on.
  bool note_refusal(Plan& plan, size_t i, const OpInfo& op, const Operands& operands) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
    if (PyErr_ExceptionMatches(PyExc_TypeError)) plan.refused.insert({i, operands.dtypes});
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Owned kept[] = {Owned(type), Owned(value), Owned(trace)};
    checked(PyObject_CallFunctionObjArgs(refuse_.get(), name_of(op).get(),
                                         plan.candidates[i].path.get(), value ? value : Py_None,
                                         nullptr));
    return false;
  }

  static void check_inplace(Plan& plan, const OpInfo& op, const Value* args) {
    Signature signature;
    const bool keeps = signature.of(op, Form::Inplace, args);
    if (keeps && plan.find(signature)) return;
    Results results;
    if (expect(op, Form::Inplace, args, results) && keeps) plan.keep(signature, results);
  }

  // In-place: the result is computed, then written to the memory that is meant.
  void change(Plan& plan, const OpInfo& op, const Value* args, Results& results) {
    Results computed;
    if (!plan.candidates.empty()) check_inplace(plan, op, args);
    if (!op.call || !serve(plan, op, args, computed))
      return fall_back(plan, op, Form::Inplace, args, results);
    on_cpu_copy(args[0].mutable_tensor(), computed.tensors[0]);
    results.set(args[0].tensor());
  }

  // out=: of composed rows this form alone comes here.
  static void fill_outputs(const OpInfo& op, const Value* args, Results& results) {
    Results computed;
    GradMode off(false);
    op.call(args, computed);
    check_outputs(op, args, computed);
    for (int i = 0; i < op.n_results; ++i) {
      Tensor& out = args[op.n_params + i].mutable_tensor();
      copy_to_out(op.name, computed.tensors[static_cast<size_t>(i)], out, kOutCasts);
      results.tensors.push_back(out);
    }
    results.kind = op.n_results == 1 ? Results::Kind::Tensor : Results::Kind::Tuple;
  }

  void fall_back(Plan& plan, const OpInfo& op, Form form, const Value* args, Results& results) {
    checked(PyObject_CallFunctionObjArgs(fell_back_.get(), name_of(op).get(), nullptr));
    on_host(op, form, args, results);
    ++plan.fallbacks;
  }

  void on_host(const OpInfo& op, Form form, const Value* args, Results& results) {
    call_on_cpu(op, form, args, device_, results);
  }

  Device device_;
  Owned package_, make_handle_, fell_back_, refuse_;
  std::optional<bool> shares_memory_;
  DTypeNames names_;
  std::map<const OpInfo*, std::unique_ptr<Plan>> plans_;
};

PackageBackend* backends[static_cast<int>(DeviceKind::Count)];

Device device_argument(PyObject* o) {
  Device device;
  MSA_REQUIRE(to_device(o, device) && device.kind < DeviceKind::Count, Type,
              "a device is wanted, got ", Py_TYPE(o)->tp_name);
  return device;
}

// The name as it is: the device is not there before it has a package.
std::string text_of(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) throw PythonError();
  return text;
}

PackageBackend& package_of(PyObject* device) {
  PackageBackend* backend = backends[static_cast<int>(device_argument(device).kind)];
  MSA_REQUIRE(backend, Runtime, "this device is not run by another package");
  return *backend;
}

// _C.set_package(device, package): the tensors of the device live in host memory, which MindSpore's
// CPU target shares.
PyObject* set_package(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *device, *package;
    if (!PyArg_ParseTuple(args, "OO", &device, &package)) throw PythonError();
    const Device where = parse_device(text_of(device));
    // Lives as long as the process: calls may be under way.
    auto* backend = new PackageBackend({where.kind}, package);
    backends[static_cast<int>(where.kind)] = backend;
    set_backend(where.kind, backend);
    set_host_memory(where.kind, true);
    set_device_present(where.kind, true);
    return none();
  });
}

PyObject* take_call_counts(PyObject*, PyObject* device) {
  return guarded([&] { return package_of(device).take_counts().release(); });
}

// _C.package_tensor(tensor): the other package's tensor over the same memory.
PyObject* package_tensor(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    MSA_REQUIRE(is_tensor(tensor), Type, "package_tensor takes a Tensor, got ",
                Py_TYPE(tensor)->tp_name);
    const Tensor& t = tensor_of(tensor);
    Owned device(device_object(t.device()));
    return package_of(device.get()).handle(t).release();
  });
}

// _C.adopt_tensor(device, tensor): a tensor of the device over the other package's tensor.
PyObject* adopt_tensor(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *device, *tensor;
    if (!PyArg_ParseTuple(args, "OO", &device, &tensor)) throw PythonError();
    return wrap(package_of(device).tensor(tensor));
  });
}

// _C.mindspore_callables() -> {row: (callable, ...)}, best first, without adapters and fences.
PyObject* mindspore_callables(PyObject*, PyObject*) {
  return guarded([&] {
    Owned all = checked(PyDict_New());
    for (size_t i = 0; i < op_count; ++i) {
      const OpInfo& op = *op_table[i];
      Owned named = checked(PyList_New(0));
      for (const char* const* word = op.ms; word && *word; ++word) {
        const std::string_view path = std::string_view(*word).substr(
            std::string_view(*word).rfind(':') + 1);  // npos + 1 is the begin
        if (path.find('.') != path.npos)
          checked(PyList_Append(named.get(),
                                checked(PyUnicode_FromStringAndSize(
                                            path.data(), static_cast<Py_ssize_t>(path.size())))
                                    .get()));
      }
      if (PyList_GET_SIZE(named.get()) > 0)
        checked(PyDict_SetItem(all.get(), name_of(op).get(),
                               checked(PyList_AsTuple(named.get())).get()));
    }
    return all.release();
  });
}

PyMethodDef functions[] = {
    {"mindspore_callables", mindspore_callables, METH_NOARGS,
     "The MindSpore callables that the registry names for each row, best first."},
    {"set_package", set_package, METH_VARARGS,
     "Makes another package's callables the backend of a device."},
    {"take_call_counts", take_call_counts, METH_O,
     "Which callables ran how often since the last call of this."},
    {"package_tensor", package_tensor, METH_O, "The other package's tensor over the same memory."},
    {"adopt_tensor", adopt_tensor, METH_VARARGS, "A tensor over the other package's."},
    {},
};

}  // namespace

void init_package_backend(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace msa::py
