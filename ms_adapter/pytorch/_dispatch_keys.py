"""The names of PyTorch's dispatch keys, for code that registers kernels by them, and questions about
kernels.
"""

import enum

from ms_adapter import _C

_BACKENDS = [
    "CPU",
    "CUDA",
    "HIP",
    "XLA",
    "MPS",
    "IPU",
    "XPU",
    "HPU",
    "VE",
    "Lazy",
    "MTIA",
    "MAIA",
    "PrivateUse1",
    "PrivateUse2",
    "PrivateUse3",
    "Meta",
]
_OTHERS = [
    "Undefined",
    "FPGA",
    "Vulkan",
    "Metal",
    "MkldnnCPU",
    "CustomRNGKeyId",
    "Fake",
    "Python",
    "PythonTLSSnapshot",
    "PythonDispatcher",
    "Functionalize",
    "Named",
    "Conjugate",
    "Negative",
    "ZeroTensor",
    "BackendSelect",
    "ADInplaceOrView",
    "AutogradOther",
    "AutogradFunctionality",
    "AutogradNestedTensor",
    "Tracer",
    "AutocastCPU",
    "AutocastCUDA",
    "AutocastXPU",
    "AutocastMPS",
    "AutocastHPU",
    "AutocastXLA",
    "AutocastIPU",
    "AutocastMTIA",
    "AutocastMAIA",
    "AutocastPrivateUse1",
    "Batched",
    "VmapMode",
    "FuncTorchBatched",
    "FuncTorchVmapMode",
    "FuncTorchGradWrapper",
    "FuncTorchBatchedDecomposition",
    "FuncTorchDynamicLayerFrontMode",
    "FuncTorchDynamicLayerBackMode",
    "PreDispatch",
    "Autograd",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutogradNestedTensor",
    "CatchAll",
]
_NAMES = [
    prefix + name for prefix in ("", "Sparse", "SparseCsr", "Quantized", "Autograd") for name in _BACKENDS
]

DispatchKey = enum.IntEnum("DispatchKey", _NAMES + _OTHERS, module=__name__)


class DispatchKeySet:
    """A set of keys."""

    def __init__(self, *keys):
        self._keys = frozenset(keys)

    def has(self, key):
        """Whether the key is in the set."""
        return key in self._keys

    def add(self, key):
        """The set with that key."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key):
        """The set without that key."""
        return DispatchKeySet(*(self._keys - {key}))

    def __or__(self, other):
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other):
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other):
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def __repr__(self):
        return f"DispatchKeySet({', '.join(sorted(key.name for key in self._keys))})"


class _ExcludeDispatchKeyGuard:
    """Inside, the keys' kernels are left out: autocast's, for code that casts by itself."""

    def __init__(self, keys):
        self.keys = keys
        self._off = None

    def __enter__(self):
        import ms_adapter.pytorch as torch

        autocast = getattr(torch, "autocast", None)
        if autocast is not None and self.keys.has(DispatchKey.AutocastCPU):
            self._off = autocast("cpu", enabled=False)
            self._off.__enter__()
        return self

    def __exit__(self, *exc_info):
        if self._off is not None:
            self._off.__exit__(*exc_info)


def _overload(name):
    from .library._define import find
    from .ops import aten

    namespace, _, rest = name.partition("::")
    if namespace != "aten":
        return find(name)
    base, _, label = rest.partition(".")
    return getattr(getattr(aten, base), label or "default")


def _dispatch_has_kernel_for_dispatch_key(name, key):
    """Whether the operator "ns::name" has a kernel for a key such as "CPU"."""
    found = _overload(name)
    key = key if isinstance(key, str) else key.name
    return key in found.kernels if hasattr(found, "kernels") else found.has_kernel_for_dispatch_key(key)


def _dispatch_has_kernel(name):
    """Whether there is an operator "ns::name" at all."""
    try:
        return _overload(name) is not None
    except (RuntimeError, AttributeError):
        return False


for _name in ("DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard", "_dispatch_has_kernel"):
    setattr(_C, _name, globals()[_name])
_C._dispatch_has_kernel_for_dispatch_key = _dispatch_has_kernel_for_dispatch_key
_C._log_api_usage_once = lambda event: None
