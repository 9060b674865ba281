"""Ways of choosing what to prune: each makes a mask of ones and zeros for a tensor."""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

import ms_adapter.pytorch as torch


class BasePruningMethod(ABC):
    """Base of pruning methods: ``compute_mask`` chooses; ``apply`` puts the method on a module's tensor.

    The module then has the tensor under ``name_orig`` and the mask under ``name_mask``, and a hook that
    multiplies them before each forward. ``PRUNING_TYPE`` says of what a further method sees the rest:
    "unstructured" (elements), "structured" (channels) or "global" (all).
    """

    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for ``t``, on top of ``default_mask``."""

    def apply_mask(self, module):
        """The masked tensor."""
        if not hasattr(self, "_tensor_name"):
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune the tensor ``name`` of ``module``, further if it is pruned already; returns the method."""
        before = _take_hook(module, name)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        if before is None:
            mask = torch.ones_like(original)
        else:
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
            mask = getattr(module, name + "_mask").detach().clone(memory_format=torch.contiguous_format)
        mask = method.compute_mask(importance_scores, default_mask=mask)
        if before is None:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of ``t``, which stays as it is."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module):
        """Make the pruned tensor an ordinary parameter again; the zeros stay."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _take_hook(module, name):
    """Take the pruning method of a tensor off the module's hooks; None where there is none."""
    found = [
        key
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(found) > 1:
        raise AssertionError(f"'{name}' of {module} has {len(found)} pruning hooks, expected at most one.")
    return module._forward_pre_hooks.pop(found[0]) if found else None


class PruningContainer(BasePruningMethod):
    """Several methods one after another, the last on what the others left."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if not isinstance(args, Iterable) or not args:
            return
        self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method for the same tensor."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            left = [slice(None)] * t.dim()
            left[dim] = mask.sum(dim=others) != 0
            left = tuple(left)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        result = mask.clone()
        result[left] = method.compute_mask(t[left], mask[left])
        return result


class Identity(BasePruningMethod):
    """Prunes nothing; the mask is all ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class _Amount(BasePruningMethod):
    """What methods share that prune an amount: a share, as a float, or a count, as an int."""

    def __init__(self, amount):
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        integral = isinstance(amount, numbers.Integral)
        if amount < 0 or (not integral and amount > 1.0):
            raise ValueError(
                f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
            )
        self.amount = amount

    def _count(self, size):
        """How many of ``size`` to prune."""
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * size)
        if self.amount > size:
            raise ValueError(
                f"amount={self.amount} should be smaller than the number of parameters to prune={size}"
            )
        return self.amount

    def _without(self, scores, mask, count):
        """The mask with zeros where ``scores`` name the first ``count``."""
        if count:
            mask.view(-1)[torch.topk(scores.reshape(-1), k=count).indices] = 0
        return mask


class RandomUnstructured(_Amount):
    """Prunes elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        count, mask = self._count(t.nelement()), default_mask.clone(memory_format=torch.contiguous_format)
        return self._without(torch.rand_like(t), mask, count) if count else mask


class L1Unstructured(_Amount):
    """Prunes the elements nearest to zero."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        return self._without(-t.abs(), mask, self._count(t.nelement()))


class _Structured(_Amount):
    """What methods share that prune whole channels along ``dim``."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{tuple(t.shape)} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {tuple(t.shape)}")
        size = t.shape[self.dim]
        count = self._count(size)
        if not count:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = size
        kept = self._kept(t, size, count)
        return default_mask * kept.to(dtype=default_mask.dtype).reshape(shape)


class RandomStructured(_Structured):
    """Prunes channels at random."""

    def _kept(self, t, size, count):
        draws = torch.rand(size)
        return draws > torch.kthvalue(draws, k=count).values


class LnStructured(_Structured):
    """Prunes the channels of the smallest ``n``-norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t, size, count):
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = torch.norm(t, p=self.n, dim=others)
        kept = torch.zeros(size, dtype=torch.bool, device=t.device)
        kept[torch.topk(norms, k=size - count).indices] = True
        return kept


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"the mask's shape {tuple(self.mask.shape)} must be that of the tensor, "
                f"{tuple(default_mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)
