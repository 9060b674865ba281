// _C's functions for files: bulk transfers and checksums, which torch.save and torch.load rest on.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_files(PyObject* module);

}  // namespace msa::py
