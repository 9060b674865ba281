// The submodule _C.transforms: levels of vmap and forward-mode AD for the face.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_transforms(PyObject* module);

}  // namespace msa::py
