"""torch._inductor.config: settings of PyTorch's code generator, kept and without effect."""

import sys
import types

from .._config_module import Settings

compile_threads = 1
conv_1x1_as_mm = coordinate_descent_check_all_directions = coordinate_descent_tuning = False
cpp_wrapper = debug = epilogue_fusion = freezing = fx_graph_cache = max_autotune = False
fallback_random = force_fuse_int_mm_with_mul = use_mixed_mm = False
cpp = types.SimpleNamespace(threads=-1, simdlen=None, enable_kernel_profile=False)
triton = types.SimpleNamespace(cudagraphs=False, unique_kernel_names=False, cudagraph_trees=True)

sys.modules[__name__].__class__ = Settings
