// Comparing two runs of numbers in memory or in files, for ms_adapter.tools.
#include "bindings/compare.h"

#include <cerrno>
#include <cmath>
#include <string_view>

#include "core/base/lock.h"
#include "core/compare/compare.h"

namespace msa::py {

namespace {

constexpr int64_t kWorthUnlocking = 16 << 10;  // elements

DType dtype_named(std::string_view name) {
  for (int i = 0; i < compare::kDTypesRead; ++i)
    if (dtype_infos[i].name == name) return static_cast<DType>(i);
  fail(ErrorKind::Value, "compare: nothing reads numbers of dtype ", std::string(name));
}

// A side as Python gives it: (dtype's name, buffer or None, [(file, offset, bytes), ...]).
class Side {
 public:
  explicit Side(PyObject* given) {
    const char* name;
    PyObject *memory, *pieces;
    if (!PyArg_ParseTuple(given, "sOO!", &name, &memory, &PyList_Type, &pieces))
      throw PythonError();
    source_.dtype = dtype_named(name);
    if (memory != Py_None) {
      checked(PyObject_GetBuffer(memory, &view_, PyBUF_SIMPLE));
      source_.memory = view_.len ? static_cast<const char*>(view_.buf) : "";
      bytes_ = view_.len;
      return;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pieces); ++i) {
      long long offset, bytes;
      int file;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(pieces, i), "iLL", &file, &offset, &bytes))
        throw PythonError();
      MSA_REQUIRE(offset >= 0 && bytes >= 0, Value, "compare: a piece of a file lies at ", offset,
                  " and has ", bytes, " bytes");
      source_.pieces.push_back({file, offset, bytes});
      bytes_ += bytes;
    }
  }
  ~Side() { PyBuffer_Release(&view_); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  const compare::Source& source() const { return source_; }
  int64_t count() const { return bytes_ / static_cast<int64_t>(size_bytes(source_.dtype)); }

 private:
  Py_buffer view_{};
  compare::Source source_;
  int64_t bytes_ = 0;
};

PyObject* result_of(const compare::Figures& f) {
  if (f.error) {
    errno = f.error;
    PyErr_SetFromErrno(PyExc_OSError);
    throw PythonError();
  }
  MSA_REQUIRE(!f.ends_early, Value, "the file ends before the tensor does");
  return Py_BuildValue("{sL sL sL sL sL sL sL sd sd sd sd sd sd sd sO sK sd sL sd sd}", "count",
                       static_cast<long long>(f.count), "near", static_cast<long long>(f.near),
                       "equal", static_cast<long long>(f.equal), "nan_a",
                       static_cast<long long>(f.nan_a), "nan_b", static_cast<long long>(f.nan_b),
                       "inf_a", static_cast<long long>(f.inf_a), "inf_b",
                       static_cast<long long>(f.inf_b), "max_abs", f.max_abs, "sum_abs", f.sum_abs,
                       "max_rel", f.max_rel, "sum_rel", f.sum_rel, "dot", f.dot, "norm_a", f.norm_a,
                       "norm_b", f.norm_b, "has_ulp", f.has_ulp ? Py_True : Py_False, "max_ulp",
                       static_cast<unsigned long long>(f.max_ulp), "sum_ulp", f.sum_ulp, "worst",
                       static_cast<long long>(f.worst), "worst_a", f.worst_a, "worst_b", f.worst_b);
}

PyObject* compare_elements(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *first, *second;
    long long count;
    compare::Tolerance near;
    int equal_nan;
    if (!PyArg_ParseTuple(args, "O!O!Lddp", &PyTuple_Type, &first, &PyTuple_Type, &second, &count,
                          &near.relative, &near.absolute, &equal_nan))
      throw PythonError();
    near.equal_nan = equal_nan;
    const Side a(first), b(second);
    MSA_REQUIRE(count >= 0 && count <= a.count() && count <= b.count(), Value, "compare: ", count,
                " elements asked of ", a.count(), " and ", b.count());
    MSA_REQUIRE(is_complex(a.source().dtype) == is_complex(b.source().dtype), Type,
                "compare: one side is complex, the other is not");
    compare::Figures f;
    {
      Unlocked unlocked(count >= kWorthUnlocking);
      f = compare::compare(a.source(), b.source(), count, near);
    }
    return result_of(f);
  });
}

PyMethodDef functions[] = {
    {"compare_elements", compare_elements, METH_VARARGS,
     "compare_elements(a, b, count, rtol, atol, equal_nan): figures of how far two runs of numbers "
     "are apart. A side is (dtype's name, buffer or None, [(file, offset, bytes), ...])."},
    {},
};

}  // namespace

void init_compare(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace msa::py
