// From the old forms of calls to today's: which numbers are factors follows from the row's
// parameters.
#include "bindings/old_forms.h"

#include <algorithm>

namespace msa::py {

namespace {

// The keyword-only number of that name, or null.
const Param* factor(const OpInfo& op, std::string_view name) {
  for (int i = op.n_positional; i < op.n_params; ++i)
    if (op.params[i].name == name && op.params[i].type == ArgType::Scalar) return &op.params[i];
  return nullptr;
}

bool takes_tensors_only(const OpInfo& op) {
  return std::all_of(op.params, op.params + op.n_positional,
                     [](const Param& p) { return p.type == ArgType::Tensor; });
}

bool is_number(PyObject* o) { return PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o); }

}  // namespace

bool OldForm::rewrite(const Binding& binding, const Arguments& given) {
  const OpInfo& op = *binding.overloads[0].op;
  const Py_ssize_t extra = given.n_positional() - op.n_positional;
  if (extra < 1 || extra > 2 || !takes_tensors_only(op)) return false;
  const Param *beta = factor(op, "beta"), *alpha = factor(op, "alpha");
  const Param* single = factor(op, "value") ? factor(op, "value") : alpha;
  if (!single || (extra == 2 && !beta)) return false;
  // Where the factors stand: `beta` first of all (behind the tensor of a method), others behind
  // the first tensor.
  const Py_ssize_t first = beta && !given.self ? 0 : 1;
  std::pair<Py_ssize_t, const Param*> factors[] = {{first, beta ? beta : single}, {2, single}};
  for (Py_ssize_t i = 0; i < extra; ++i)
    if (!is_number(given.positional(factors[i].first))) return false;
  for (Py_ssize_t i = given.self ? 1 : 0; i < given.n_positional(); ++i) {
    const bool is_factor = i == factors[0].first || (extra == 2 && i == factors[1].first);
    if (!is_factor) values_.push_back(given.positional(i));
  }
  const auto n = static_cast<Py_ssize_t>(values_.size());
  names_ = checked(PyTuple_New(given.n_keywords() + extra));
  for (Py_ssize_t i = 0; i < given.n_keywords(); ++i) {
    values_.push_back(given.keyword_value(i));
    PyTuple_SET_ITEM(names_.get(), i, Py_NewRef(given.keyword(i)));
  }
  for (Py_ssize_t i = 0; i < extra; ++i) {
    values_.push_back(given.positional(factors[i].first));
    PyTuple_SET_ITEM(names_.get(), given.n_keywords() + i,
                     checked(PyUnicode_FromString(factors[i].second->name)).release());
  }
  arguments = {given.self, values_.data(), n, names_.get()};
  return true;
}

}  // namespace msa::py
