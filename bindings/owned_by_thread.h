// References that a thread keeps until it ends, when it can no longer give them back itself.
#pragma once
#include "bindings/common.h"

namespace msa::py {

// Thread-local C++ objects end after the thread's Python state, and Thread.join() does not wait for
// them: the interpreter may be ending meanwhile, and asking for its lock would then end the
// process. So a reference whose thread is past its Python state is left behind, and given back when
// the next one is made.
class OwnedByThread {
 public:
  explicit OwnedByThread(PyObject* borrowed);
  OwnedByThread(const OwnedByThread&) = delete;
  OwnedByThread& operator=(const OwnedByThread&) = delete;
  ~OwnedByThread();
  PyObject* get() const { return held_.get(); }

 private:
  Owned held_;
};

}  // namespace msa::py
