// _C.SharedMemory: regions that several processes map, for torch.multiprocessing and DataLoader.
#include "core/storage/shared_memory.h"

#include <sys/prctl.h>

#include "bindings/convert.h"
#include "bindings/tensor/storage.h"

namespace msa::py {

namespace {

extern PyTypeObject memory_type;

struct MemoryObject {
  PyObject_HEAD Ref<SharedMemory> memory;
};

const Ref<SharedMemory>& of(PyObject* self) {
  return reinterpret_cast<MemoryObject*>(self)->memory;
}

PyObject* memory_object(Ref<SharedMemory> memory) {
  auto* o = PyObject_New(MemoryObject, &memory_type);
  if (!o) throw PythonError();
  new (&o->memory) Ref<SharedMemory>(std::move(memory));
  return as_object(o);
}

void destroy(PyObject* self) {
  reinterpret_cast<MemoryObject*>(self)->memory.~Ref();
  Py_TYPE(self)->tp_free(self);
}

size_t size_argument(const char* who, PyObject* o) {
  int64_t value;
  MSA_REQUIRE(to_int(o, value) && value >= 0, Type, who, ": expected a non-negative int");
  return static_cast<size_t>(value);
}

const Storage& storage_argument(const char* who, PyObject* o) {
  MSA_REQUIRE(Py_IS_TYPE(o, &storage_type), Type, who, ": expected an UntypedStorage, not ",
              Py_TYPE(o)->tp_name);
  return *storage_value(o);
}

PyObject* construct(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"nbytes", nullptr};
    PyObject* bytes;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:SharedMemory", const_cast<char**>(names),
                                     &bytes))
      return nullptr;
    return memory_object(SharedMemory::create(size_argument("SharedMemory", bytes)));
  });
}

PyObject* attach(PyObject*, PyObject* fd) {
  return guarded([&] {
    return memory_object(
        SharedMemory::attach(static_cast<int>(size_argument("SharedMemory.attach", fd))));
  });
}

PyObject* of_storage(PyObject*, PyObject* storage) {
  return guarded([&] {
    SharedMemory* memory = shared_memory_of(storage_argument("SharedMemory.of", storage));
    return memory ? memory_object(Ref<SharedMemory>(memory)) : none();
  });
}

PyObject* offset_of(PyObject* self, PyObject* storage) {
  return guarded([&] {
    const Storage& s = storage_argument("SharedMemory.offset_of", storage);
    MSA_REQUIRE(shared_memory_of(s) == of(self).get(), Value,
                "SharedMemory.offset_of: the storage is not of this region");
    return PyLong_FromSsize_t(static_cast<char*>(s.data) - of(self)->payload());
  });
}

PyObject* whole(PyObject* self, PyObject*) {
  return guarded([&] { return storage_object(whole_storage(of(self))); });
}

PyObject* piece(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    MSA_REQUIRE(n == 3, Type, "SharedMemory.piece takes offset, nbytes, counted");
    return storage_object(piece_storage(of(self), size_argument("SharedMemory.piece", args[0]),
                                        size_argument("SharedMemory.piece", args[1]),
                                        PyObject_IsTrue(args[2]) == 1));
  });
}

PyObject* hold(PyObject* self, PyObject*) {
  of(self)->header->held.fetch_add(1, std::memory_order_acq_rel);
  return none();
}

PyObject* close_descriptor(PyObject* self, PyObject*) {
  of(self)->close_descriptor();
  return none();
}

PyMethodDef memory_methods[] = {
    {"attach", attach, METH_O | METH_STATIC,
     "The region behind a descriptor, which it takes over; one that is mapped already is found."},
    {"of", of_storage, METH_O | METH_STATIC, "The region that a storage lies in, or None."},
    {"offset_of", offset_of, METH_O, "Where in the payload a storage of this region begins."},
    {"whole", whole, METH_NOARGS, "The storage over the whole payload."},
    {"piece", fastcall(piece), METH_FASTCALL,
     "piece(offset, nbytes, counted): a storage over a part; counted: its end lowers `held`."},
    {"hold", hold, METH_NOARGS, "Counts a piece that another process is about to take."},
    {"close", close_descriptor, METH_NOARGS,
     "Closes the descriptor; the mapping stays but can be sent no further."},
    {},
};

PyGetSetDef memory_getters[] = {
    {"fd", [](PyObject* s, void*) { return PyLong_FromLong(of(s)->fd); }, nullptr,
     "The descriptor, or -1 once closed.", nullptr},
    {"key", [](PyObject* s, void*) { return PyLong_FromUnsignedLongLong(of(s)->key); }, nullptr,
     "A number that names the region in all processes.", nullptr},
    {"nbytes", [](PyObject* s, void*) { return PyLong_FromSize_t(of(s)->bytes); }, nullptr,
     "The bytes of the payload.", nullptr},
    {"pieces", [](PyObject* s, void*) { return PyLong_FromLong(of(s)->pieces); }, nullptr,
     "How many storages of this process lie in the region.", nullptr},
    {"held", [](PyObject* s, void*) { return PyLong_FromLong(of(s)->header->held.load()); },
     nullptr, "How many pieces other processes still use.", nullptr},
    {"retired", [](PyObject* s, void*) { return boolean(of(s)->header->retired.load()); }, nullptr,
     "Whether the region must never be written again: a process forked while it was in use.",
     nullptr},
    {},
};

PyTypeObject memory_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "ms_adapter._C.SharedMemory";
  t.tp_basicsize = sizeof(MemoryObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_dealloc = destroy;
  t.tp_new = construct;
  t.tp_methods = memory_methods;
  t.tp_getset = memory_getters;
  t.tp_doc = "SharedMemory(nbytes): a new region of memory that other processes can map.";
  return t;
}();

// _C.die_with_parent(signal): the kernel sends this process the signal when the thread that started
// it ends.
PyObject* die_with_parent(PyObject*, PyObject* signal) {
  return guarded([&] {
    prctl(PR_SET_PDEATHSIG, size_argument("die_with_parent", signal));
    return none();
  });
}

PyMethodDef functions[] = {{"die_with_parent", die_with_parent, METH_O, nullptr}, {}};

}  // namespace

PyObject* storage_is_shared(PyObject* self, PyObject*) {
  return boolean(shared_memory_of(*storage_value(self)) != nullptr);
}

PyObject* storage_share_memory(PyObject* self, PyObject*) {
  return guarded([&] {
    move_to_shared_memory(*storage_value(self));
    return Py_NewRef(self);
  });
}

void init_shared_memory(PyObject* module) {
  checked(PyType_Ready(&memory_type));
  checked(PyModule_AddObjectRef(module, "SharedMemory", as_object(&memory_type)));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace msa::py
