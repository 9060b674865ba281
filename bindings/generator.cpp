// torch.Generator, the default generator, and the module functions that seed it and carry its
// state.
#include "bindings/generator.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "bindings/tensor/tensor.h"
#include "bindings/types/types.h"
#include "core/capture/watcher.h"
#include "core/random/generator.h"

namespace msa::py {
namespace {

struct GeneratorObject {
  PyObject_HEAD Ref<Generator> generator;
};

PyObject* default_object = nullptr;  // owned for the life of the process

Generator& generator_of(PyObject* o) { return *reinterpret_cast<GeneratorObject*>(o)->generator; }

// A new object of `type` that shares `generator`.
PyObject* make(PyTypeObject* type, Ref<Generator> generator) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&reinterpret_cast<GeneratorObject*>(o)->generator) Ref(std::move(generator));
  return o;
}

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"device", nullptr};
    PyObject* given = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names),
                                     &given)) {
      return nullptr;
    }
    Device device;
    MSA_REQUIRE(!given || given == Py_None || to_device(given, device), Type,
                "Generator: device must be a torch.device or a string, not ",
                Py_TYPE(given)->tp_name, ".");
    // Random numbers are drawn on the cpu for every device; what has no elements draws none.
    MSA_REQUIRE(
        !device.is_meta(), Runtime,
        "Generator: random numbers are drawn on the cpu for every device; there is no generator "
        "for meta, use Generator('cpu').");
    return make(type, Ref(new Generator()));
  });
}

void dealloc(PyObject* self) {
  reinterpret_cast<GeneratorObject*>(self)->generator.~Ref();
  Py_TYPE(self)->tp_free(self);
}

// A seed as PyTorch takes it: -2^63 to 2^64 - 1, negative ones modulo 2^64.
uint64_t seed_value(PyObject* o) {
  MSA_REQUIRE(PyLong_Check(o) && !PyBool_Check(o), Runtime, "manual_seed expected a long, but got ",
              Py_TYPE(o)->tp_name, ".");
  const unsigned long long plain = PyLong_AsUnsignedLongLong(o);
  if (!PyErr_Occurred()) return plain;
  PyErr_Clear();
  const long long negative = PyLong_AsLongLong(o);
  if (!PyErr_Occurred()) return static_cast<uint64_t>(negative);
  PyErr_Clear();
  fail(ErrorKind::Value,
       "manual_seed: Overflow when unpacking long long: the seed must lie in "
       "[-2^63, 2^64 - 1].");
}

std::lock_guard<std::mutex> locked(Generator& generator) {
  return std::lock_guard<std::mutex>(generator.mutex());
}

void tell_reseeded(const Generator& generator, const char* how) {
  if (&generator == &default_generator()) capture::tell_reseeded(how);
}

PyObject* manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    const uint64_t value = seed_value(seed);
    tell_reseeded(generator_of(self), "manual_seed()");
    auto lock = locked(generator_of(self));
    generator_of(self).manual_seed(value);
    return Py_NewRef(self);
  });
}

PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self).initial_seed());
}

PyObject* seed(PyObject* self, PyObject*) {
  return guarded([&] {
    tell_reseeded(generator_of(self), "seed()");
    auto lock = locked(generator_of(self));
    return PyLong_FromUnsignedLongLong(generator_of(self).seed());
  });
}

PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor state = empty(Dims{static_cast<int64_t>(Generator::kStateBytes)}, DType::U8);
    auto lock = locked(generator_of(self));
    generator_of(self).get_state(state.data<uint8_t>());
    return wrap(state);
  });
}

void load_state(Generator& generator, PyObject* given) {
  MSA_REQUIRE(is_tensor(given), Type, "set_state expected a torch.ByteTensor, but got ",
              Py_TYPE(given)->tp_name, ".");
  const Tensor& state = tensor_of(given);
  MSA_REQUIRE(
      state.dtype() == DType::U8 && state.device().kind == DeviceKind::Cpu && state.is_contiguous(),
      Type, "set_state: RNG state must be a contiguous torch.ByteTensor on the cpu, not ", state,
      ".");
  MSA_REQUIRE(state.numel() == static_cast<int64_t>(Generator::kStateBytes), Runtime,
              "set_state: Expected a CPUGeneratorImplState of size ", Generator::kStateBytes,
              " but found the input RNG state size to be ", state.numel(), ".");
  const auto* to = state.data<uint8_t>();
  std::array<uint8_t, Generator::kStateBytes> from;
  {
    auto lock = locked(generator);
    generator.get_state(from.data());
    MSA_REQUIRE(generator.set_state(to), Runtime,
                "set_state: Invalid mt19937 state; pass what get_state() returned.");
  }
  // Back to where it is anyway, as after a part without draws, is no change.
  if (!std::equal(from.begin(), from.end(), to)) tell_reseeded(generator, "set_state()");
}

PyObject* set_state(PyObject* self, PyObject* state) {
  return guarded([&] {
    load_state(generator_of(self), state);
    return Py_NewRef(self);
  });
}

PyObject* clone_state(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref copy(new Generator());
    auto lock = locked(generator_of(self));
    copy->copy_from(generator_of(self));
    return make(Py_TYPE(self), std::move(copy));
  });
}

PyObject* no_offset(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    fail(ErrorKind::Runtime, "Generator: CPU Generator does not use offset; use get_state().");
  });
}

// (type, (device,), (seed, offset, state)): PyTorch's own pickle form.
PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Owned device = checked(device_object(Device{}));
    Owned state = checked(get_state(self, nullptr));
    return Py_BuildValue("O(O)(KOO)", Py_TYPE(self), device.get(),
                         static_cast<unsigned long long>(generator_of(self).initial_seed()),
                         Py_None, state.get());
  });
}

PyObject* restore(PyObject* self, PyObject* reduced) {
  return guarded([&] {
    MSA_REQUIRE(PyTuple_Check(reduced) && PyTuple_GET_SIZE(reduced) == 3, Type,
                "Generator.__setstate__ expected (seed, offset, state).");
    load_state(generator_of(self), PyTuple_GET_ITEM(reduced, 2));
    return none();
  });
}

PyObject* get_device(PyObject*, void*) { return device_object(Device{}); }

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "Starts the stream of this seed; returns the generator."},
    {"initial_seed", initial_seed, METH_NOARGS, "The seed that the stream was started with."},
    {"seed", seed, METH_NOARGS, "Seeds from the operating system and returns the seed."},
    {"get_state", get_state, METH_NOARGS, "The state as a uint8 tensor of 5056 bytes."},
    {"set_state", set_state, METH_O, "Continues from what get_state() returned."},
    {"clone_state", clone_state, METH_NOARGS, "A generator that will draw the same numbers."},
    {"graphsafe_get_state", clone_state, METH_NOARGS, "As clone_state()."},
    {"get_offset", no_offset, METH_NOARGS, "Raises: the cpu's stream has no offset."},
    {"set_offset", no_offset, METH_O, "Raises: the cpu's stream has no offset."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__setstate__", restore, METH_O, nullptr},
    {},
};

PyGetSetDef getters[] = {
    {"device", get_device, nullptr, "Where the numbers are drawn.", nullptr},
    {},
};

// The module functions do to the default generator what the methods do.
PyObject* default_manual_seed(PyObject*, PyObject* seed) {
  return guarded([&] {
    Owned number = checked(PyNumber_Long(seed));  // torch.manual_seed, unlike the method, takes 2.0
    return manual_seed(default_object, number.get());
  });
}
PyObject* default_initial_seed(PyObject*, PyObject*) {
  return initial_seed(default_object, nullptr);
}
PyObject* default_seed(PyObject*, PyObject*) { return seed(default_object, nullptr); }
PyObject* get_rng_state(PyObject*, PyObject*) { return get_state(default_object, nullptr); }
PyObject* set_rng_state(PyObject*, PyObject* state) {
  return guarded([&] {
    load_state(generator_of(default_object), state);
    return none();
  });
}

PyMethodDef functions[] = {
    {"manual_seed", default_manual_seed, METH_O, "Seeds the default generator and returns it."},
    {"initial_seed", default_initial_seed, METH_NOARGS, "The default generator's seed."},
    {"seed", default_seed, METH_NOARGS, "Seeds the default generator from the operating system."},
    {"get_rng_state", get_rng_state, METH_NOARGS, "The default generator's state."},
    {"set_rng_state", set_rng_state, METH_O, "Sets the default generator's state."},
    {},
};

}  // namespace

PyTypeObject generator_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch._C.Generator";
  t.tp_basicsize = sizeof(GeneratorObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  t.tp_new = construct;
  t.tp_dealloc = dealloc;
  t.tp_methods = methods;
  t.tp_getset = getters;
  t.tp_doc = "A stream of random numbers: Generator().manual_seed(0) draws what PyTorch's does.";
  return t;
}();

Generator* generator_value(PyObject* o) { return &generator_of(o); }
PyObject* generator_object(Generator& generator) {
  return checked(make(&generator_type, Ref<Generator>(&generator))).release();
}

void init_generator(PyObject* module) {
  checked(PyType_Ready(&generator_type));
  checked(PyModule_AddObjectRef(module, "Generator", as_object(&generator_type)));
  Ref<Generator> shared(&default_generator());
  default_object = checked(make(&generator_type, std::move(shared))).release();
  checked(PyModule_AddObjectRef(module, "default_generator", default_object));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace msa::py
