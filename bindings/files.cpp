// Bulk reads, writes and checksums of buffers for ms_adapter.pytorch.serialization.
#include "bindings/files.h"

#include <cerrno>

#include "core/base/lock.h"
#include "core/io/bulk.h"
#include "core/io/crc32.h"

namespace msa::py {

namespace {

constexpr Py_ssize_t kWorthUnlocking = 64 << 10;  // bytes

// The bytes of any object that has a buffer, for the life of this one.
class Bytes {
 public:
  Bytes(PyObject* owner, int flags) { checked(PyObject_GetBuffer(owner, &view_, flags)); }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }
  bool large() const { return view_.len >= kWorthUnlocking; }

 private:
  Py_buffer view_;
};

void check_error(int error) {
  if (!error) return;
  errno = error;
  PyErr_SetFromErrno(PyExc_OSError);
  throw PythonError();
}

PyObject* result_of(const io::Transfer& moved) {
  check_error(moved.error);
  return Py_BuildValue("KI", static_cast<unsigned long long>(moved.bytes), moved.crc32);
}

// What both transfers take: a file descriptor, a place in that file, a buffer, whether to checksum.
struct Arguments {
  int file;
  long long offset;
  PyObject* buffer;
  int checksum;

  explicit Arguments(PyObject* args) {
    if (!PyArg_ParseTuple(args, "iLOp", &file, &offset, &buffer, &checksum)) throw PythonError();
    MSA_REQUIRE(offset >= 0, Value, "the offset in a file must not be negative, got ", offset);
  }
};

PyObject* read_file_at(PyObject*, PyObject* args) {
  return guarded([&] {
    Arguments a(args);
    Bytes to(a.buffer, PyBUF_WRITABLE);
    io::Transfer moved;
    {
      Unlocked unlocked(to.large());
      moved = io::read_at(a.file, a.offset, to.data(), to.size(), a.checksum);
    }
    return result_of(moved);
  });
}

PyObject* write_file_at(PyObject*, PyObject* args) {
  return guarded([&] {
    Arguments a(args);
    Bytes from(a.buffer, PyBUF_SIMPLE);
    io::Transfer moved;
    {
      Unlocked unlocked(from.large());
      moved = io::write_at(a.file, a.offset, from.data(), from.size(), a.checksum);
    }
    return result_of(moved);
  });
}

PyObject* reserve_file(PyObject*, PyObject* args) {
  return guarded([&] {
    int file;
    unsigned long long bytes;
    if (!PyArg_ParseTuple(args, "iK", &file, &bytes)) throw PythonError();
    int error;
    {
      Unlocked unlocked(true);
      error = io::reserve(file, bytes);
    }
    check_error(error);
    return none();
  });
}

PyObject* crc32(PyObject*, PyObject* data) {
  return guarded([&] {
    Bytes of(data, PyBUF_SIMPLE);
    uint32_t crc;
    {
      Unlocked unlocked(of.large());
      crc = io::crc32(0, of.data(), of.size());
    }
    return PyLong_FromUnsignedLong(crc);
  });
}

PyMethodDef functions[] = {
    {"read_file_at", read_file_at, METH_VARARGS,
     "read_file_at(file, offset, buffer, checksum): fills the buffer from an open file descriptor; "
     "the number of bytes read and their CRC-32."},
    {"write_file_at", write_file_at, METH_VARARGS,
     "write_file_at(file, offset, buffer, checksum): writes the buffer; the number of bytes "
     "written and their CRC-32."},
    {"reserve_file", reserve_file, METH_VARARGS,
     "reserve_file(file, bytes): takes the disk's blocks for that many bytes, where it can."},
    {"crc32", crc32, METH_O, "crc32(buffer): the CRC-32 of its bytes, as in zip files."},
    {},
};

}  // namespace

void init_files(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace msa::py
