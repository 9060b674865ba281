// PyTorch's small value types: dtype, device, Size, memory_format, layout, and the results' named
// tuples.
#pragma once
#include "bindings/common.h"
#include "core/dispatch/op_info.h"
#include "core/dtype/dtype.h"
#include "core/layout/layout.h"
#include "core/storage/device.h"

namespace msa::py {

struct DTypeObject {
  PyObject_HEAD DType value;
};
extern PyTypeObject dtype_type;
PyObject* dtype_object(DType t);  // borrowed: there is one for each dtype
inline bool is_dtype(PyObject* o) { return Py_IS_TYPE(o, &dtype_type); }
inline DType dtype_value(PyObject* o) { return reinterpret_cast<DTypeObject*>(o)->value; }
// A dtype, or one of Python's float, int, bool, complex.
bool to_dtype(PyObject* o, DType& out);

struct DeviceObject {
  PyObject_HEAD Device value;
};
extern PyTypeObject device_type;
PyObject* device_object(Device d);  // new reference
inline bool is_device(PyObject* o) { return Py_IS_TYPE(o, &device_type); }
inline Device device_value(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->value; }
// A device, a string, or an index; false for other types. Raises for bad texts.
bool to_device(PyObject* o, Device& out);

extern PyTypeObject size_type;
PyObject* size_object(DimsView dims);  // new reference: torch.Size

// A named constant: torch.channels_last, torch.strided.
struct ConstantObject {
  PyObject_HEAD const char* name;
  int value;
};
extern PyTypeObject memory_format_type, layout_type;
PyObject* memory_format_object(MemoryFormat f);  // borrowed
PyObject* layout_object(int number);             // borrowed; 0 is torch.strided
inline bool is_memory_format(PyObject* o) { return Py_IS_TYPE(o, &memory_format_type); }
inline bool is_layout(PyObject* o) { return Py_IS_TYPE(o, &layout_type); }
inline MemoryFormat memory_format_value(PyObject* o) {
  return static_cast<MemoryFormat>(reinterpret_cast<ConstantObject*>(o)->value);
}
inline int layout_value(PyObject* o) {
  return reinterpret_cast<ConstantObject*>(o)->value;
}  // 0: strided

// The named tuple type of a row with result names; null for other rows.
PyTypeObject* result_type_of(const OpInfo& op);

void init_dtype(PyObject* module);
void init_device(PyObject* module);
void init_size(PyObject* module);
void init_constants(PyObject* module);
void init_type_info(PyObject* module);
void init_return_types(PyObject* module);

}  // namespace msa::py
