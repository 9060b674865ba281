"""Settings of the process: default dtype and device, determinism, precision, switches of libraries."""

import threading

import pytest
import torch
from reference_build import asks_no_driver

import ms_adapter.pytorch as face


def test_default_dtype(both):
    def scenario(t):
        out = []
        for dtype in (t.float64, t.float16, t.float32):
            t.set_default_dtype(dtype)
            made = (t.tensor(1.0), t.ones(1), t.arange(2) / 2, t.nn.Linear(1, 1).weight, t.rand(1))
            out.append([str(x.dtype) for x in made] + [repr(t.ones(1)), repr(t.ones(1, dtype=t.float32))])
            out.append(str(t.get_default_dtype()))
        t.set_default_tensor_type(t.DoubleTensor)
        out.append(str(t.ones(1).dtype))
        t.set_default_tensor_type("torch.FloatTensor")
        out.append(str(t.ones(1).dtype))
        for bad in (t.int32, t.complex64, "float32"):
            with pytest.raises(TypeError):
                t.set_default_dtype(bad)
        return out

    both(scenario)


def test_default_device(both):
    def scenario(t):
        out = []

        def look():
            made = (
                t.ones(1),
                t.tensor([1.0]),
                t.nn.Linear(1, 1).weight,
                t.eye(2),
                t.tril_indices(2, 2),
                t.randn(2),
            )
            out.append([str(x.device) for x in made] + [str(t.get_default_device())])

        with t.device("meta") as device:
            out.append(str(device))
            look()
            out += [str(t.ones(1, device="cpu").device), str(t.ones_like(t.ones(1, device="cpu")).device)]
            with t.device("cpu"):
                look()
            look()
        look()
        t.set_default_device("meta")
        look()
        t.set_default_device(None)
        look()
        with pytest.raises(KeyError), t.device("meta"):
            raise KeyError
        look()

        def elsewhere():
            out.append(str(t.ones(1).device))

        with t.device("meta"):
            other = threading.Thread(target=elsewhere)
            other.start()
            other.join()
        with pytest.raises(RuntimeError):
            t.set_default_device("nowhere")
        return out

    both(scenario)


def test_determinism(both):
    def scenario(t):
        out = []

        def look():
            out.append(
                (
                    t.are_deterministic_algorithms_enabled(),
                    t.is_deterministic_algorithms_warn_only_enabled(),
                    t.get_deterministic_debug_mode(),
                )
            )

        look()
        t.use_deterministic_algorithms(True)
        look()
        t.use_deterministic_algorithms(True, warn_only=True)
        look()
        for mode in ("error", "warn", "default", 2, 1, 0):
            t.set_deterministic_debug_mode(mode)
            look()
        for bad, kind in ((5, RuntimeError), ("some", RuntimeError), (1.5, TypeError)):
            with pytest.raises(kind):
                t.set_deterministic_debug_mode(bad)
        with pytest.raises(TypeError):
            t.use_deterministic_algorithms("yes")
        return out

    both(scenario)


def test_matmul_precision(both):
    def scenario(t):
        out = []
        matmul = t.backends.cuda.matmul
        for precision in ("high", "medium", "highest"):
            t.set_float32_matmul_precision(precision)
            out.append((t.get_float32_matmul_precision(), matmul.allow_tf32))
        for allowed in (True, False):
            matmul.allow_tf32 = allowed
            out.append(t.get_float32_matmul_precision())
        with pytest.warns(UserWarning):
            t.set_float32_matmul_precision("low")
        out += [matmul.allow_fp16_reduced_precision_reduction, matmul.allow_bf16_reduced_precision_reduction]
        with pytest.raises(AttributeError):
            matmul.other = 1
        return out

    both(scenario)


@asks_no_driver  # that build has cuDNN's switches
def test_switches_of_libraries(both):
    def scenario(t):
        b, out = t.backends, []
        names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
        look = lambda: out.append([getattr(b.cudnn, name) for name in names])
        look()
        with b.cudnn.flags(enabled=False, deterministic=True):
            look()
        look()
        out += [b.cudnn.is_available(), b.cudnn.version(), b.cudnn.is_acceptable(t.ones(1))]
        with b.mkldnn.flags(enabled=False):
            out.append(b.mkldnn.enabled)
        out += [b.mkldnn.enabled, b.mkldnn.deterministic, b.mkldnn.is_available(), b.openmp.is_available()]
        kinds = (
            b.cuda.flash_sdp_enabled,
            b.cuda.mem_efficient_sdp_enabled,
            b.cuda.math_sdp_enabled,
            b.cuda.cudnn_sdp_enabled,
        )
        b.cuda.enable_flash_sdp(False)
        out.append([kind() for kind in kinds])
        b.cuda.enable_flash_sdp(True)
        out += [b.cuda.is_built(), b.mps.is_available(), b.mps.is_built(), b.miopen.immediate]
        out += [b.cusparselt.is_available(), b.kleidiai.is_available(), b.mha.get_fastpath_enabled()]
        with pytest.raises(RuntimeError):
            b.cuda.preferred_linalg_library("some")
        return out

    both(scenario)


def test_switches_may_be_assigned():
    """PyTorch refuses that once its testing package is imported, so this is ours alone."""
    cudnn = face.backends.cudnn
    cudnn.benchmark = True
    with cudnn.flags(benchmark=False):
        assert cudnn.benchmark is False
    assert cudnn.set_flags(_benchmark=False)[1] is True and cudnn.benchmark is False
    with pytest.raises(TypeError):
        cudnn.set_flags(other=1)


def test_threads(both):
    def scenario(t):
        before = t.get_num_threads()
        t.set_num_threads(1)
        out = [t.get_num_threads()]
        t.set_num_threads(before)
        for bad in (0, -1, 1.5):
            with pytest.raises(RuntimeError):
                t.set_num_threads(bad)
        with pytest.raises(RuntimeError):
            t.set_num_interop_threads(0)
        return out

    both(scenario)


def test_what_it_is_built_with():
    for t in (torch, face):
        assert "OpenMP" in t.__config__.show() and "get_num_threads" in t.__config__.parallel_info()
    assert str(face.get_num_threads()) in face.__config__.parallel_info()
