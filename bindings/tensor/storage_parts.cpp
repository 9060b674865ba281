// Mapped files and parts of storages as storages: how mmap=True and safetensors read without a
// copy.
#include "bindings/tensor/storage_parts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bindings/tensor/storage.h"

namespace msa::py {

namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void fail_with_errno(PyObject* path) {
  PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
  throw PythonError();
}

struct Mapping {
  void* data;
  size_t bytes;
};

void unmap(void* context) {
  auto* mapping = static_cast<Mapping*>(context);
  munmap(mapping->data, mapping->bytes);
  delete mapping;
}

// The bytes to map: what was asked for, or else the whole file; a shared one grows as needed.
size_t mapped_bytes(int file, PyObject* path, bool shared, Py_ssize_t asked) {
  struct stat status;
  if (fstat(file, &status) != 0) fail_with_errno(path);
  if (asked <= 0) return static_cast<size_t>(status.st_size);
  if (asked > status.st_size) {
    MSA_REQUIRE(shared, Runtime, "UntypedStorage.from_file: the file has ",
                static_cast<long>(status.st_size), " bytes, fewer than the ",
                static_cast<long>(asked), " asked for; ask for fewer, or shared=True to extend it");
    if (ftruncate(file, asked) != 0) fail_with_errno(path);
  }
  return static_cast<size_t>(asked);
}

void release_storage(void* whole) { Ref<Storage>::adopt(static_cast<Storage*>(whole)).reset(); }

}  // namespace

PyObject* storage_from_file(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* names[] = {"filename", "shared", "nbytes", nullptr};
    PyObject* encoded = nullptr;
    int shared = 0;
    Py_ssize_t asked = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|pn:from_file", const_cast<char**>(names),
                                     PyUnicode_FSConverter, &encoded, &shared, &asked))
      throw PythonError();
    Owned path(encoded);
    int flags = shared ? O_RDWR | O_CREAT : O_RDONLY;
    Descriptor file{open(PyBytes_AS_STRING(path.get()), flags | O_CLOEXEC, 0666)};
    if (file.number < 0) fail_with_errno(path.get());
    size_t bytes = mapped_bytes(file.number, path.get(), shared, asked);
    if (bytes == 0) return storage_object(Storage::make(0));
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE,
                      file.number, 0);
    if (data == MAP_FAILED) fail_with_errno(path.get());
    return storage_object(Storage::wrap(data, bytes, {}, unmap, new Mapping{data, bytes}));
  });
}

PyObject* storage_slice(PyObject* self, PyObject* slice) {
  return guarded([&] {
    const Ref<Storage>& whole = storage_value(self);
    Py_ssize_t start, stop, step;
    checked(PySlice_Unpack(slice, &start, &stop, &step));
    auto length = PySlice_AdjustIndices(static_cast<Py_ssize_t>(whole->bytes), &start, &stop, step);
    MSA_REQUIRE(step == 1, Runtime, "UntypedStorage: a slice must have the step 1, got ",
                static_cast<long>(step));
    MSA_REQUIRE(whole->device.is_cpu(), NotImplemented, "UntypedStorage: slices of a storage on ",
                whole->device, " are not supported; copy it to cpu first");
    if (length == 0) return storage_object(Storage::make(0));
    whole->resizable = false;  // the part points into its memory
    Storage* kept = Ref<Storage>(whole).release();
    return storage_object(Storage::wrap(static_cast<char*>(whole->data) + start,
                                        static_cast<size_t>(length), whole->device, release_storage,
                                        kept));
  });
}

}  // namespace msa::py
