"""Spectral norm by a hook: the older way, which adds ``weight_orig``, ``weight_u`` and ``weight_v``."""

import ms_adapter.pytorch as torch

from .. import functional as F
from ..modules.conv import _ConvTransposeNd
from ..parameter import Parameter, UninitializedParameter

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


def default_dim(module):
    """The dimension of a weight that holds the outputs."""
    return 1 if isinstance(module, _ConvTransposeNd) else 0


@torch.no_grad()
def power_method(matrix, u, v, iterations, eps):
    """Turn ``u`` and ``v``, in place, towards the singular vectors of the largest singular value."""
    for _ in range(iterations):
        u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=eps))
        v.copy_(F.normalize(torch.mv(matrix.H, u), dim=0, eps=eps))


class SpectralNorm:
    """The hook that computes the weight anew before each forward."""

    _version = 1

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight):
        """The weight with ``dim`` first and the rest in one."""
        return weight.movedim(self.dim, 0).reshape(weight.size(self.dim), -1)

    def compute_weight(self, module, do_power_iteration):
        """The weight over its largest singular value, whose estimate may take a step first."""
        weight = getattr(module, self.name + "_orig")
        u, v = (getattr(module, f"{self.name}_{which}") for which in "uv")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()  # the next call changes them, this one's backward needs them
        return weight / torch.dot(u, torch.mv(matrix, v))

    def remove(self, module):
        """Make the weight an ordinary parameter again."""
        with torch.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Put spectral norm on a weight of ``module``; returns the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run "
                "the dummy forward before applying spectral normalization"
            )
        with torch.no_grad():
            matrix = hook.reshape_weight_to_matrix(weight)
            u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in matrix.size())
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # an attribute like any other: the hook sets it
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormStateDictHook:
    """Notes in the state's metadata which version of this wrote it."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Gives states from before version 1 the vector v, which those had not, in place of the weight."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, errors):
        name = self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(name + ".version")
        key = prefix + name
        if version is not None or key + "_v" in state_dict:
            return
        if any(key + suffix not in state_dict for suffix in ("_orig", "_u", "")):
            return  # what is missing will be said
        with torch.no_grad():
            original, normalized, u = (state_dict[key + suffix] for suffix in ("_orig", "", "_u"))
            del state_dict[key]
            sigma = (original / normalized).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            v = torch.mv(torch.linalg.pinv(matrix), u)
            state_dict[key + "_v"] = v * (sigma / torch.dot(u, torch.mv(matrix, v)))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The older form of ``torch.nn.utils.parametrizations.spectral_norm``."""
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Take spectral norm off a weight again."""
    found = False
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            found = True
    if not found:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    _drop(module._state_dict_hooks, lambda hook: hook, SpectralNormStateDictHook, name)
    _drop(module._load_state_dict_pre_hooks, lambda hook: hook.hook, SpectralNormLoadStateDictPreHook, name)
    return module


def _drop(hooks, unwrapped, kind, name):
    """Take the hooks of a kind, for the weight of this name, off a dictionary of hooks."""
    for key, hook in list(hooks.items()):
        own = unwrapped(hook)
        if isinstance(own, kind) and own.fn.name == name:
            del hooks[key]
