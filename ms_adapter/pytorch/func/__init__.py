"""torch.func: functions made of functions — gradients, Jacobians, batches.

The transforms nest in any order: ``vmap(grad(f))``, ``jacfwd(jacrev(f))``, ``grad(vmap(f))``.
"""

from .._functorch.apis import grad, grad_and_value, vmap
from .._functorch.batch_norm_replacement import replace_all_batch_norm_modules_
from .._functorch.eager_transforms import (
    debug_unwrap,
    functionalize,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from .._functorch.functional_call import functional_call, stack_module_state

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
