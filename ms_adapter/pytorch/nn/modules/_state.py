"""Saving and loading a module's state: state_dict, load_state_dict and what they call."""

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

import ms_adapter.pytorch as torch

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: the keys it missed and those it had no use for."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class State:
    """The saving and loading half of :class:`Module`."""

    __slots__ = ()

    def get_extra_state(self):
        """Extra state for ``state_dict``; override together with :meth:`set_extra_state`."""
        raise RuntimeError(
            f"{self._get_name()}.get_extra_state was called but is not overridden by this module."
        )

    def set_extra_state(self, state):
        """Take back what :meth:`get_extra_state` gave; override together with it."""
        raise RuntimeError(
            f"{self._get_name()}.set_extra_state was called but is not overridden by this module."
        )

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An OrderedDict of all parameters and persistent buffers, by dotted name.

        The tensors share memory with the module's; they are detached unless ``keep_vars``.

        >>> from ms_adapter.pytorch import nn
        >>> list(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).state_dict())[:3]
        ['0.weight', '0.bias', '1.weight']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: state_dict(destination=..., "
                "prefix=..., keep_vars=...).",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            answer = hook(self, destination, prefix, local_metadata)
            if answer is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = answer
        return destination

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy the values of ``state_dict`` into this module and everything below it.

        Args:
            state_dict: a mapping from dotted names to tensors.
            strict: every key must match; otherwise RuntimeError lists what is missing and unexpected.
            assign: take the given tensors themselves in place of copying their values.

        Returns the pair ``(missing_keys, unexpected_keys)``.

        >>> from ms_adapter.pytorch import nn
        >>> nn.Linear(2, 2).load_state_dict(nn.Linear(2, 2).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        _load_tree(self, state_dict, "", metadata, assign, (missing, unexpected, errors))
        if strict:
            for kind, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    errors.insert(
                        0, f"{kind} key(s) in state_dict: " + ", ".join(f'"{k}"' for k in keys) + ". "
                    )
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Load this module's own tensors, not those of its submodules; what goes wrong is added to the
        lists.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = {name: param for name, param in self._parameters.items() if param is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        for name, tensor in own.items():
            if prefix + name in state_dict:
                fault = _load_one(self, name, tensor, state_dict[prefix + name], prefix + name, assign)
                if fault:
                    error_msgs.append(fault)
            elif strict:
                missing_keys.append(prefix + name)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not State.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    first, dot, _rest = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)


def _load_tree(module, state_dict, prefix, metadata, assign, lists):
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state_dict, prefix, local_metadata, True, *lists)
    for name, child in module._modules.items():
        if child is not None:
            child_prefix = prefix + name + "."
            below = {k: v for k, v in state_dict.items() if k.startswith(child_prefix)}
            _load_tree(child, below, child_prefix, metadata, assign, lists)
    incompatible = _IncompatibleKeys(*lists[:2])
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                "new values; change the lists of incompatible_keys in place."
            )


def _load_one(module, name, tensor, given, key, assign):
    """Load one tensor; the text of what is wrong, if anything."""
    if not (isinstance(given, torch.Tensor) or hasattr(given, "__torch_function__")):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(given)}"
        )
    lazy = torch.nn.parameter.is_lazy(tensor)
    if not lazy and tensor.dim() == 0 and tuple(given.shape) == (1,):
        given = given[0]  # files older than 0-d tensors
    if not lazy and given.shape != tensor.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape "
            f"in current model is {tensor.shape}."
        )
    if tensor.is_meta and not given.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
            "current model, which is a no-op. (Did you mean to pass `assign=True`?)",
            stacklevel=5,
        )
    try:
        with torch.no_grad():
            if assign:
                _assign(module, name, tensor, given)
            else:
                tensor.copy_(given)
    except Exception as err:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} '
            f"and whose dimensions in the checkpoint are {given.size()}, an exception occurred : {err.args}."
        )
    return None


def _assign(module, name, tensor, given):
    Parameter = torch.nn.Parameter
    if isinstance(tensor, Parameter):
        if isinstance(given, Parameter):
            given.requires_grad_(tensor.requires_grad)
        else:
            given = Parameter(given, requires_grad=tensor.requires_grad)
    setattr(module, name, given)
