// Calls as they were written years ago, with factors between the tensors: `x.add_(-lr, grad)`.
#pragma once
#include <vector>

#include "bindings/parser.h"

namespace msa::py {

// The arguments of such a call in today's form.
class OldForm {
 public:
  // False for what is no call of that kind.
  bool rewrite(const Binding& binding, const Arguments& given);

  Arguments arguments{};

 private:
  std::vector<PyObject*> values_;
  Owned names_;
};

}  // namespace msa::py
