// Argument handling of the methods written by hand.
#include "bindings/tensor/native.h"

#include <cstring>

namespace msa::py {

void take_arguments(const char* who, const Arguments& given,
                    std::initializer_list<const char*> names, PyObject** slots,
                    size_t keyword_only) {
  size_t positional = std::min(names.size(), keyword_only);
  std::fill_n(slots, names.size(), nullptr);
  MSA_REQUIRE(static_cast<size_t>(given.n) <= positional, Type, who, "() takes at most ",
              positional, " positional arguments but ", static_cast<long>(given.n), " were given");
  std::copy_n(given.args, given.n, slots);
  for (Py_ssize_t i = 0; i < given.n_keywords(); ++i) {
    const char* keyword = PyUnicode_AsUTF8(given.keyword(i));
    if (!keyword) throw PythonError();
    auto at = std::find_if(names.begin(), names.end(),
                           [&](const char* n) { return std::strcmp(n, keyword) == 0; });
    MSA_REQUIRE(at != names.end(), Type, who, "() got an unexpected keyword argument '", keyword,
                "'");
    PyObject*& slot = slots[at - names.begin()];
    MSA_REQUIRE(!slot, Type, who, "() got multiple values for argument '", keyword, "'");
    slot = given.keyword_value(i);
  }
}

PyObject* call_override(const char* name, const char* accessor, const Arguments& given) {
  Owned attribute = checked(PyObject_GetAttrString(as_object(tensor_type), name));
  if (accessor) attribute = checked(PyObject_GetAttrString(attribute.get(), accessor));
  return dispatch_torch_function(attribute.get(), given);
}

}  // namespace msa::py
