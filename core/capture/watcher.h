// What a recording must hear of beside operator calls: memory that is made, elements that are read,
// the generator that is set.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::capture {

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void made(Storage* storage) = 0;
  // `how` is what the user called: "item()", "numpy()".
  virtual void reads(const Tensor& t, const char* how) = 0;
  // The default generator's stream goes on elsewhere.
  virtual void reseeded(const char* how) = 0;
};

// Of this thread; null nearly always.
extern constinit thread_local Watcher* watcher;

inline void tell_made(Storage* storage) {
  if (__builtin_expect(watcher != nullptr, 0)) watcher->made(storage);
}
// Said by all that looks at elements without calling an operator.
inline void tell_read(const Tensor& t, const char* how) {
  if (__builtin_expect(watcher != nullptr, 0)) watcher->reads(t, how);
}
inline void tell_reseeded(const char* how) {
  if (__builtin_expect(watcher != nullptr, 0)) watcher->reseeded(how);
}

}  // namespace msa::capture
