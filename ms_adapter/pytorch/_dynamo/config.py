"""torch._dynamo.config: settings of PyTorch's compiler, kept and without effect."""

import sys

from .._config_module import Settings

accumulated_cache_size_limit = accumulated_recompile_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = automatic_dynamic_shapes = True
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = capture_scalar_outputs = False
compiled_autograd = False
disable = False
dynamic_shapes = True
error_on_recompile = False
force_parameter_static_shapes = True
guard_nn_modules = inline_inbuilt_nn_modules = True
log_level = None
optimize_ddp = True
specialize_float = specialize_int = False
suppress_errors = False
verbose = False

sys.modules[__name__].__class__ = Settings
