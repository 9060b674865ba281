// Warnings that leave the core: Python's UserWarning once the bindings are loaded, else stderr.
#pragma once
#include "core/base/error.h"

namespace msa {

// May throw (PythonError when Python turns warnings into errors).
extern void (*warn_hook)(const std::string& text);

template <class... Args>
[[gnu::cold, gnu::noinline]] void warn(const Args&... args) {
  warn_hook(cat(args...));
}

}  // namespace msa
