"""Storages: the untyped one is the core's; typed ones are how files and old code speak of them."""

import ms_adapter.pytorch as torch
from ms_adapter import _C

UntypedStorage = _C.UntypedStorage

# The old names: a storage class and a tensor type for each dtype that has them.
_STEMS = {
    "float64": "Double",
    "float32": "Float",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex128": "ComplexDouble",
    "complex64": "ComplexFloat",
}


def _stem(dtype):
    return _STEMS.get(str(dtype).removeprefix("torch."))


def _stem_without_class(dtype):
    """The stem of a dtype that has no storage class: "UInt16", "Float8_e5m2", "ComplexHalf"."""
    if dtype == torch.complex32:
        return "ComplexHalf"
    name = str(dtype).removeprefix("torch.")
    return "UI" + name[2:] if name.startswith("uint") else name.capitalize()


def has_typed_class(dtype):
    """Whether files write a tensor of this dtype over a typed storage (later dtypes have no class of it)."""
    return _stem(dtype) is not None


def storage_type_name(dtype):
    """The name under which files know a storage of this dtype."""
    return f"{_stem(dtype)}Storage"


def tensor_type_name(tensor):
    """The old name of a tensor's type, as "torch.FloatTensor"."""
    stem = _stem(tensor.dtype) or _stem_without_class(tensor.dtype)
    where = "" if tensor.device.type == "cpu" else f"{tensor.device.type}."
    sparse = "sparse." if tensor.layout != torch.strided else ""
    return f"torch.{where}{sparse}{stem}Tensor"


def dtype_of_type_name(name):
    """The dtype in "torch.FloatTensor"."""
    for dtype, stem in _STEMS.items():
        if name.endswith(f".{stem}Tensor"):
            return getattr(torch, dtype)
    raise ValueError(f"invalid type: {name!r}; known are those like 'torch.FloatTensor', and dtypes.")


class TypedStorage:
    """An untyped storage seen as elements of one dtype.

    >>> import ms_adapter.pytorch as torch
    >>> torch.ones(3).storage().size()
    3
    """

    is_sparse = False

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        self.dtype = dtype or torch.get_default_dtype()
        if wrap_storage is None:
            count = args[0] if args else 0
            wrap_storage = UntypedStorage(int(count) * self._element_size(), device=device or "cpu")
        self._untyped_storage = wrap_storage

    def _element_size(self):
        return torch.empty((), dtype=self.dtype).element_size()

    def _tensor(self):
        tensor = torch.empty((0,), dtype=self.dtype, device=self.device)
        return tensor.set_(self._untyped_storage, 0, (self.size(),), (1,))

    @property
    def device(self):
        """Where the bytes are."""
        return self._untyped_storage.device

    def untyped(self):
        """The storage as bytes."""
        return self._untyped_storage

    def size(self):
        """The number of elements."""
        return self._untyped_storage.nbytes() // self._element_size()

    __len__ = size

    def nbytes(self):
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self):
        """The number of bytes in one element."""
        return self._element_size()

    def share_memory_(self):
        """Move the bytes to memory that other processes can share."""
        self._untyped_storage.share_memory_()
        return self

    def is_shared(self):
        """Whether other processes can share the bytes."""
        return self._untyped_storage.is_shared()

    def _new_shared(self, size, device=None):
        """A storage of ``size`` elements in shared memory: what older collate functions write batches to."""
        untyped = _C.SharedMemory(size * self._element_size()).whole()
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype)

    def __sizeof__(self):
        return super().__sizeof__() + self.nbytes()

    def data_ptr(self):
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def tolist(self):
        """The elements as a list."""
        return self._tensor().tolist()

    def __getitem__(self, index):
        return self._tensor()[index].item() if isinstance(index, int) else self._tensor()[index].storage()

    def __setitem__(self, index, value):
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def fill_(self, value):
        """Set all elements to ``value``."""
        self._tensor().fill_(value)
        return self

    def __repr__(self):
        values = "\n ".join(map(str, self.tolist()))
        what = f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device})"
        return f" {values}\n[{what} of size {self.size()}]"

    def pickle_storage_type(self):
        """The name under which files know a storage of this dtype."""
        return storage_type_name(self.dtype)

    def __reduce__(self):
        name = str(self.dtype).removeprefix("torch.")
        storage = self._untyped_storage
        if storage.device.type == "cpu":
            return _from_bytes, (bytes(memoryview(storage)), name)
        return _from_bytes, (bytes(memoryview(_moved(storage, "cpu"))), name, str(storage.device))


def _moved(storage, device):
    """The bytes of a storage on another device."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage).to(device).untyped_storage()


def _from_bytes(data, dtype_name, device="cpu"):
    """A typed storage holding ``data``: how plain pickles carry storages."""
    storage = UntypedStorage(len(data))
    memoryview(storage).cast("B")[:] = data
    if device != "cpu":
        storage = _moved(storage, device)
    return TypedStorage(wrap_storage=storage, dtype=getattr(torch, dtype_name))


class _LegacyStorageMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and _stem(instance.dtype) == cls.stem


class _LegacyStorage(metaclass=_LegacyStorageMeta):
    """Stands for ``torch.FloatStorage`` and the like: the dtype of a storage in a file."""

    def __new__(cls, *args, **kwargs):
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)


def storage_classes():
    """``torch.FloatStorage`` and its siblings, by name."""
    classes = {}
    for name, stem in _STEMS.items():
        attributes = {
            "stem": stem,
            "dtype": getattr(torch, name),
            "__doc__": f"A storage of {name} elements.",
        }
        classes[f"{stem}Storage"] = _LegacyStorageMeta(f"{stem}Storage", (_LegacyStorage,), attributes)
    return classes


class _LegacyTensorMeta(type):
    """Makes ``torch.FloatTensor`` and the like answer for all tensors of their dtype."""

    def __instancecheck__(cls, instance):
        return (
            isinstance(instance, torch.Tensor)
            and instance.dtype == cls.dtype
            and instance.device.type == "cpu"
            and instance.layout == torch.strided
        )

    def __call__(cls, *args):
        if len(args) != 1 or isinstance(args[0], int):
            return torch.empty(args or (0,), dtype=cls.dtype)
        (given,) = args
        if isinstance(given, torch.Size):
            return torch.empty(given, dtype=cls.dtype)
        if not isinstance(given, torch.Tensor):
            return torch.tensor(given, dtype=cls.dtype)
        if not isinstance(given, cls):
            raise TypeError(
                f"torch.{cls.__name__}: a tensor of {given.dtype} on {given.device} is of another type: "
                f"convert it with .to({cls.dtype})."
            )
        return torch.ops.aten.alias(given)


def tensor_classes():
    """``torch.FloatTensor`` and its siblings, by name: old constructors, from sizes or from data."""
    classes = {}
    for name, stem in _STEMS.items():
        if not name.startswith("complex"):
            attributes = {
                "dtype": getattr(torch, name),
                "__doc__": f"Tensors of {name}: from sizes, or from data.",
            }
            classes[f"{stem}Tensor"] = _LegacyTensorMeta(
                f"{stem}Tensor", (), {**attributes, "__module__": "torch"}
            )
    return classes
