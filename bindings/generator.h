// The Python type torch.Generator, as the parser needs it (bindings/generator.cpp).
#pragma once
#include "bindings/common.h"
#include "core/random/fwd.h"

namespace msa::py {

extern PyTypeObject generator_type;
inline bool is_generator(PyObject* o) { return PyObject_TypeCheck(o, &generator_type); }
Generator* generator_value(PyObject* o);           // borrowed
PyObject* generator_object(Generator& generator);  // new reference

void init_generator(PyObject* module);

}  // namespace msa::py
