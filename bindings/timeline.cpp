// Starts and stops timing operators, for torch.profiler.
#include "bindings/timeline.h"

#include <memory>

#include "bindings/autograd/autograd.h"
#include "bindings/native_function.h"
#include "core/dispatch/timeline.h"

namespace msa::py {

namespace {

thread_local std::unique_ptr<Timeline> running;

PyObject* start(PyObject* const*, Py_ssize_t) {
  MSA_REQUIRE(!running, Runtime, "profiler: another one is running in this thread");
  running = std::make_unique<Timeline>();
  push_layer(running.get());
  return none();
}

// [(operator, begin, end), ...] in the order of their beginnings; a call that raised has no
// end (0).
PyObject* stop(PyObject* const*, Py_ssize_t) {
  MSA_REQUIRE(running, Runtime, "profiler: none is running in this thread");
  pop_layer(running.get());
  const std::unique_ptr<Timeline> done = std::move(running);
  constexpr const char* kSuffix[] = {"", "_", ""};
  Owned list = checked(PyList_New(0));
  for (const TimedCall& call : done->calls) {
    const std::string name = cat(call.op->name, kSuffix[static_cast<int>(call.form)]);
    Owned item = checked(Py_BuildValue("sLL", name.c_str(), static_cast<long long>(call.begin_ns),
                                       static_cast<long long>(call.end_ns)));
    checked(PyList_Append(list.get(), item.get()));
  }
  return list.release();
}

PyObject* now(PyObject* const*, Py_ssize_t) { return PyLong_FromLongLong(steady_now_ns()); }

PyMethodDef functions[] = {
    function<start>("start", "Times operators from here on."),
    function<stop>("stop", "stop() -> [(operator, begin, end), ...] in nanoseconds"),
    function<now>("now", "The same clock, in nanoseconds."),
    {},
};

}  // namespace

void init_timeline(PyObject* module) { add_submodule(module, "timeline", functions); }

}  // namespace msa::py
