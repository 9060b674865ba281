"""torch.utils.cpp_extension: kernels of one's own in C++, built and loaded as operators with gradient and
meta.

Kernels are written for ``ms_adapter/kernel.h``; code for PyTorch's ``torch/extension.h`` cannot be compiled.
"""

import os
import sys
import types
from pathlib import Path

from ms_adapter import _C

from ..ops import _custom
from ..ops._schemas import parse_schema
from . import _kernel_build

__all__ = [
    "CUDA_HOME",
    "BuildExtension",  # noqa: F822 - made when asked for
    "CUDAExtension",
    "CppExtension",
    "check_compiler_is_gcc",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "load_library",
    "verify_ninja_availability",
]

CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_WINDOWS, IS_LINUX, IS_MACOS = os.name == "nt", sys.platform == "linux", sys.platform == "darwin"


def load(
    name,
    sources,
    extra_cflags=None,
    extra_cuda_cflags=None,
    extra_sycl_cflags=None,
    extra_ldflags=None,
    extra_include_paths=None,
    build_directory=None,
    verbose=False,
    with_cuda=None,
    with_sycl=None,
    is_python_module=True,
    is_standalone=False,
    keep_intermediates=True,
):
    """Compiles C++ sources and loads their kernels as the operators ``torch.ops.<name>.<kernel>``.

    Args:
        name: the namespace of the operators, an identifier.
        sources: a path, or several.
        extra_cflags, extra_ldflags, extra_include_paths: lists for the compiler.
        build_directory: where the library is kept; a folder of the user's own if None.
        verbose: prints the compiler's calls.

    Returns a module with the operators. The library is built again only if a source, an included file, an
    option or the compiler changed. RuntimeError with the compiler's text where it fails, NotImplementedError
    for sources that include PyTorch's C++ or are CUDA.
    """
    if with_cuda or extra_cuda_cflags:
        raise NotImplementedError("cpp_extension.load: there is no CUDA here.")
    path = _kernel_build.build(
        name,
        sources,
        extra_cflags or (),
        extra_ldflags or (),
        extra_include_paths or (),
        build_directory,
        verbose,
    )
    return load_library(path, name)


def load_inline(name, cpp_sources, cuda_sources=None, functions=None, build_directory=None, **options):
    """As :func:`load`, with the sources as text, a string or several; options are those of ``load``."""
    if cuda_sources:
        raise NotImplementedError("cpp_extension.load_inline: there is no CUDA here.")
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    texts = [t if "ms_adapter/kernel.h" in t else f"#include <ms_adapter/kernel.h>\n{t}" for t in texts]
    known = ("extra_cflags", "extra_ldflags", "extra_include_paths", "verbose")
    kept = {key: value for key, value in options.items() if key in known}
    root = Path(build_directory) if build_directory else _kernel_build.build_root()
    folder = _kernel_build._private(_kernel_build._private(root) / f"{name}_inline")
    paths = []
    for text in texts:
        path = folder / f"{_kernel_build._digest(text)[:16]}.cpp"
        if not path.exists():
            path.write_text(text)
        paths.append(path)
    module = load(name, paths, build_directory=build_directory, **kept)
    wanted = [functions] if isinstance(functions, str) else list(functions or ())
    missing = [f for f in wanted if not hasattr(module, f)]
    if missing:
        raise RuntimeError(
            f"cpp_extension.load_inline: the sources register no kernel {missing}; each needs its "
            'MS_ADAPTER_KERNEL("schema", function).'
        )
    return module


class _KernelOperator(_custom.CustomOverload):
    """An operator whose kernel is C++: its row runs that directly where no gradient is recorded."""

    def __init__(self, packet, overload, schema, kernel, backward):
        super().__init__(packet, overload, schema)
        if any(r.type != "Tensor" for r in schema.returns) or not schema.returns:
            raise RuntimeError(f"{schema.name}: a kernel's results are tensors, got '{schema}'.")
        _C.set_kernel(self._custom_row, kernel, len(schema.returns))
        self.fake = self.kernels["CPU"] = self._call_kernel
        if backward is not None:
            self.backward_name = backward
            self.setup_context, self.backward = self._keep, self._gradients

    def _call_kernel(self, *args, **kwargs):
        return _C.call_kernel(self, self._custom_row, args, kwargs)

    @staticmethod
    def _keep(ctx, inputs, output, keyword_only_inputs=None):
        values = [*inputs, *(keyword_only_inputs or {}).values()]
        ctx.places = [i for i, v in enumerate(values) if hasattr(v, "requires_grad")]
        ctx.save_for_backward(*(values[i] for i in ctx.places))
        ctx.values = [None if i in ctx.places else v for i, v in enumerate(values)]

    def _gradients(self, ctx, *grads):
        values = list(ctx.values)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            values[place] = tensor
        made = _custom.packets[(self.namespace, self.backward_name)](*grads, *values)
        made = iter(made if isinstance(made, (tuple, list)) else (made,))
        return tuple(next(made) if i in ctx.places else None for i in range(self._n_plain))


def load_library(path, name=None):
    """Loads a library that was built against ``ms_adapter/kernel.h``; returns a module with its operators.

    Schemas without a namespace get ``name``, by default the file's.
    """
    path = Path(path)
    name = name or path.name.partition(".")[0]
    module = types.ModuleType(name, f"The kernels of {path.name}.")
    for text, backward, kernel in _C.load_kernels(str(path)):
        schema = parse_schema(text if "::" in text.partition("(")[0] else f"{name}::{text}")
        space, _, bare = schema.name.partition("::")
        old = _custom.packets.get((space, bare))
        if old is not None and "default" in old._overloads:
            _custom.forget(old._overloads["default"])
        make = lambda packet, label, schema, k=kernel, b=backward: _KernelOperator(
            packet, label, schema, k, b
        )
        _custom.define(schema, make)
        setattr(module, bare, _custom.packets[(space, bare)])
    return module


def CppExtension(name, sources, *args, **kwargs):  # noqa: N802 - PyTorch's name
    """A setuptools.Extension for kernels in C++; load what it builds with ``load_library``."""
    import setuptools

    _kernel_build.refuse_pytorch(sources)
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", ()), *include_paths()]
    kwargs["extra_compile_args"] = [
        *_flags(kwargs.get("extra_compile_args")),
        "-std=c++17",
        "-fvisibility=hidden",
    ]
    kwargs["language"] = "c++"
    return setuptools.Extension(name, sources, *args, **kwargs)


def _flags(given):
    return list(given.get("cxx", ())) if isinstance(given, dict) else list(given or ())


def CUDAExtension(name, sources, *args, **kwargs):  # noqa: N802 - PyTorch's name
    """Raises NotImplementedError: there is no CUDA."""
    raise NotImplementedError(f"CUDAExtension: {name} needs CUDA, for which there is no device here.")


def _build_extension_class():
    from setuptools.command.build_ext import build_ext

    class BuildExtension(build_ext):
        """The command ``build_ext`` for :func:`CppExtension`; PyTorch's options are accepted."""

        @classmethod
        def with_options(cls, **options):
            """The class; the options choose among tools that are not used here."""
            return cls

    return BuildExtension


def __getattr__(name):
    if name == "BuildExtension":  # setuptools is imported by those who build
        globals()[name] = made = _build_extension_class()
        return made
    raise AttributeError(f"module 'torch.utils.cpp_extension' has no attribute '{name}'")


def include_paths(device_type="cpu", torch_include_dirs=True):
    """The folders with headers: that of ``ms_adapter/kernel.h``."""
    return [_kernel_build.include_folder()]


def library_paths(device_type="cpu", torch_include_dirs=True, cross_target_platform=None):
    """An empty list: kernels link against nothing."""
    return []


def get_default_build_root():
    """Where :func:`load` keeps what it built."""
    return str(_kernel_build.build_root())


def is_ninja_available():
    """False: ninja is not needed."""
    return False


def verify_ninja_availability():
    """RuntimeError, as PyTorch's where there is no ninja."""
    raise RuntimeError("Ninja is not used to build ms_adapter's kernels.")


def check_compiler_is_gcc(compiler):
    """Whether a compiler calls itself GCC."""
    import subprocess

    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return "Free Software Foundation" in done.stdout
