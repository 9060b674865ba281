// Loads libraries of kernels, and calls a kernel with a row's values.
#include "bindings/kernel_library.h"

#include <dlfcn.h>

#include <deque>
#include <unordered_map>

#include "bindings/call.h"
#include "bindings/custom.h"
#include "bindings/overloads.h"
#include "core/dispatch/opaque.h"
#include "generated/ops_convert.h"
#include "generated/ops_copy.h"
#include "ms_adapter/include/ms_adapter/kernel.h"

namespace msa::py {

namespace {

namespace ext = ms_adapter;

const char kCapsule[] = "ms_adapter.kernel";

struct NamedDType {
  DType ours;
  ext::DType theirs;
};
constexpr NamedDType kDTypeNames[] = {
    {DType::Bool, ext::DType::Bool},     {DType::U8, ext::DType::UInt8},
    {DType::I8, ext::DType::Int8},       {DType::I16, ext::DType::Int16},
    {DType::I32, ext::DType::Int32},     {DType::I64, ext::DType::Int64},
    {DType::F16, ext::DType::Float16},   {DType::BF16, ext::DType::BFloat16},
    {DType::F32, ext::DType::Float32},   {DType::F64, ext::DType::Float64},
    {DType::C64, ext::DType::Complex64}, {DType::C128, ext::DType::Complex128}};

ext::DType their_dtype(DType t) {
  for (const NamedDType& pair : kDTypeNames)
    if (pair.ours == t) return pair.theirs;
  return ext::DType::Other;
}
DType our_dtype(const OpInfo& op, ext::DType t) {
  for (const NamedDType& pair : kDTypeNames)
    if (pair.theirs == t) return pair.ours;
  fail(ErrorKind::Runtime, op.name,
       ": its shape rule gives a dtype that is none: ", static_cast<int>(t));
}

// --- one call ------------------------------------------------------------------------------------

// The arguments as plain structs, and what these point to.
class PlainArguments {
 public:
  PlainArguments(const OpInfo& op, const ext::KernelEntry& entry, const Value* values)
      : op_(op), strided_(entry.strided) {
    all_.resize(op.n_params);
    for (int i = 0; i < op.n_params; ++i)
      fill(all_[static_cast<size_t>(i)], op.params[i], values[i]);
  }
  const ext::Argument* data() const { return all_.data(); }
  int32_t count() const { return static_cast<int32_t>(all_.size()); }
  bool on_meta() const { return meta_; }
  // What results are like where there is no shape rule.
  const ext::Tensor& first() const {
    for (const ext::Argument& a : all_)
      if (a.tensor.defined) return a.tensor;
    fail(ErrorKind::Runtime, op_.name, ": a kernel without a tensor among its arguments needs a ",
         "shape rule");
  }

 private:
  void fill(ext::Argument& a, const Param& p, const Value& v) {
    a.none = v.is_none();
    if (v.is_none()) return;
    switch (v.tag()) {
      case Value::Tag::Tensor:
        a.tensor = described(v.tensor());
        return;
      case Value::Tag::Tensors:
        return fill_list(a, v.tensors());
      case Value::Tag::Int:
      case Value::Tag::Bool:
        a.integer = v.integer();
        a.real = static_cast<double>(v.integer());
        return;
      case Value::Tag::Float:
        a.real = v.real();
        a.integer = static_cast<int64_t>(v.real());
        return;
      case Value::Tag::Dims:
        a.integers = v.dims().data();
        a.count = static_cast<int64_t>(v.dims().size());
        return;
      case Value::Tag::Floats:
        a.reals = v.floats().data();
        a.count = static_cast<int64_t>(v.floats().size());
        return;
      case Value::Tag::Str:
        a.text = texts_.emplace_back(v.str()).c_str();
        return;
      case Value::Tag::DType:
        a.integer = static_cast<int64_t>(their_dtype(v.dtype()));
        return;
      default:
        fail(ErrorKind::NotImplemented, op_.name, ": kernels in C++ take no argument such as '",
             p.name, "'");
    }
  }
  void fill_list(ext::Argument& a, const TensorList& list) {
    auto& made = lists_.emplace_back();
    for (const Tensor& t : list) made.push_back(described(t));
    a.tensors = made.data();
    a.count = static_cast<int64_t>(made.size());
  }
  ext::Tensor described(const Tensor& given) {
    MSA_REQUIRE(given.device().is_cpu() || given.device().is_meta(), NotImplemented, op_.name,
                ": a kernel in C++ takes tensors on cpu, got one on ", given.device());
    meta_ |= given.device().is_meta();
    const Tensor& t = kept_.emplace_back(
        strided_ || given.is_contiguous() || given.device().is_meta() ? given
                                                                      : ops::contiguous(given));
    return describe(op_, t);
  }

 public:
  static ext::Tensor describe(const OpInfo& op, const Tensor& t) {
    MSA_REQUIRE(t.dim() <= ext::kMaxDims, NotImplemented, op.name, ": at most ", ext::kMaxDims,
                " dimensions are supported, got ", t.dim());
    ext::Tensor made;
    made.memory = t.device().is_meta() ? nullptr : t.data();
    made.dtype = their_dtype(t.dtype());
    made.dim = static_cast<int32_t>(t.dim());
    made.numel = t.numel();
    made.defined = true;
    for (size_t d = 0; d < t.sizes().size(); ++d) {
      made.sizes[d] = t.sizes()[d];
      made.strides[d] = t.strides()[d];
    }
    return made;
  }

 private:
  const OpInfo& op_;
  const bool strided_;
  bool meta_ = false;
  std::vector<ext::Argument> all_;
  std::deque<Tensor> kept_;
  std::deque<std::string> texts_;
  std::deque<std::vector<ext::Tensor>> lists_;
};

void run_function(const OpInfo& op, const ext::KernelEntry& entry, ext::Function function,
                  const PlainArguments& args, std::vector<ext::Tensor>& outputs) {
  char error[512] = "";
  int32_t failed = entry.call(function, args.data(), args.count(), outputs.data(),
                              static_cast<int32_t>(outputs.size()), error, sizeof error);
  MSA_REQUIRE(!failed, Runtime, op.name, ": ", error);
}

struct Kernel {
  ext::KernelEntry entry;
  int n_results;
};
std::unordered_map<const OpInfo*, Kernel>& kernels() {
  static auto& all = *new std::unordered_map<const OpInfo*, Kernel>;
  return all;
}

void run_kernel(const OpInfo& op, const Kernel& kernel, const Value* values, Results& results) {
  GradMode off(false);
  PlainArguments args(op, kernel.entry, values);
  std::vector<ext::Tensor> outputs(static_cast<size_t>(kernel.n_results));
  if (kernel.entry.shape)
    run_function(op, kernel.entry, kernel.entry.shape, args, outputs);
  else
    for (ext::Tensor& t : outputs) t = args.first();
  TensorList made;
  for (ext::Tensor& t : outputs) {
    const DimsView sizes(t.sizes, static_cast<size_t>(t.dim));
    made.push_back(
        empty(sizes, our_dtype(op, t.dtype), args.on_meta() ? Device{DeviceKind::Meta} : Device{}));
    t = PlainArguments::describe(op, made.back());
  }
  if (!args.on_meta()) run_function(op, kernel.entry, kernel.entry.kernel, args, outputs);
  results.set(std::move(made));
  results.kind = kernel.n_results == 1 ? Results::Kind::Tensor : Results::Kind::Tuple;
}

// --- from Python ---------------------------------------------------------------------------------

// _C.load_kernels(path) -> [(schema, name of the backward kernel or None, kernel)]
PyObject* load_kernels(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    const char* file = PyUnicode_AsUTF8(path);
    if (!file) throw PythonError();
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);  // stays for good: rows point into it
    if (!library) return PyErr_Format(PyExc_OSError, "%s", dlerror());
    using Ask = const ext::KernelEntry* (*)(int32_t, int32_t*);
    auto ask = reinterpret_cast<Ask>(dlsym(library, "ms_adapter_kernels"));
    MSA_REQUIRE(ask, Runtime, file,
                " has no kernels for ms_adapter: it was not built against ms_adapter/kernel.h");
    int32_t count = 0;
    const ext::KernelEntry* entries = ask(ext::kAbi, &count);
    MSA_REQUIRE(entries || count == 0, Runtime, file, " was built against another version of ",
                "ms_adapter/kernel.h; build it again");
    Owned list = checked(PyList_New(0));
    for (int32_t i = 0; i < count; ++i) {
      auto* entry = const_cast<ext::KernelEntry*>(&entries[i]);
      Owned item = checked(Py_BuildValue("szN", entry->schema, entry->backward,
                                         PyCapsule_New(entry, kCapsule, nullptr)));
      checked(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

// _C.set_kernel(row, kernel, n_results): a custom row runs a kernel wherever no gradient is
// recorded.
PyObject* set_kernel(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *row, *capsule;
    int n_results;
    if (!PyArg_ParseTuple(args, "OOi", &row, &capsule, &n_results)) throw PythonError();
    auto* entry = static_cast<ext::KernelEntry*>(PyCapsule_GetPointer(capsule, kCapsule));
    if (!entry) throw PythonError();
    kernels()[&row_of(row)] = {*entry, n_results};
    set_native_body(row_of(row), [](const OpInfo& op, const Value* values, Results& results) {
      run_kernel(op, kernels().at(&op), values, results);
    });
    return none();
  });
}

Owned run(const OpInfo& op, Call& call) {
  Results results;
  run_kernel(op, kernels().at(&op), call.values(), results);
  return checked(wrap_results(op, results));
}

// _C.call_kernel(overload, row, args, kwargs): the kernel itself, below everything.
PyObject* call_kernel(PyObject*, PyObject* const* given, Py_ssize_t n) {
  return guarded([&] {
    MSA_REQUIRE(n == 4, Type, "call_kernel(overload, row, args, kwargs)");
    return call_parsed(given[0], row_of(given[1]), Form::Function, given[2], given[3], run)
        .release();
  });
}

PyMethodDef functions[] = {
    {"load_kernels", load_kernels, METH_O, "The kernels of a library."},
    {"set_kernel", set_kernel, METH_VARARGS, "Lets a custom row run a kernel."},
    {"call_kernel", fastcall(call_kernel), METH_FASTCALL, "Runs the kernel of a row."},
    {},
};

}  // namespace

void init_kernel_library(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace msa::py
