// Keeps what ended threads left behind until somebody with the interpreter's lock comes by.
#include "bindings/owned_by_thread.h"

#include <mutex>
#include <vector>

namespace msa::py {

namespace {

struct LeftBehind {
  std::mutex mutex;
  std::vector<PyObject*> references;
};
// Never destroyed, as threads may end after the process began to.
LeftBehind& left_behind() {
  static auto* const left = new LeftBehind;
  return *left;
}

void give_back_left_behind() {
  std::vector<PyObject*> found;
  {
    std::lock_guard<std::mutex> hold(left_behind().mutex);
    found.swap(left_behind().references);
  }
  for (PyObject* reference : found)
    Py_DECREF(reference);  // may run Python code, so without the mutex
}

}  // namespace

OwnedByThread::OwnedByThread(PyObject* borrowed) : held_(Owned::borrow(borrowed)) {
  give_back_left_behind();
}

OwnedByThread::~OwnedByThread() {
  if (PyGILState_GetThisThreadState())
    return;  // null past the thread's state, and past the interpreter
  std::lock_guard<std::mutex> hold(left_behind().mutex);
  left_behind().references.push_back(held_.release());
}

}  // namespace msa::py
