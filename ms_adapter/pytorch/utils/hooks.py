"""Handles that take registered hooks away again, and the machinery behind full backward hooks of modules."""

import warnings
import weakref
from collections import OrderedDict

import ms_adapter.pytorch as torch

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


class RemovableHandle:
    """Removes one hook from the dictionary that holds it; also a context manager that removes it on exit.

    Args:
        hooks_dict: the dictionary the hook was stored in, under this handle's ``id``.
        extra_dict: a dictionary, or a list of them, whose entry of the same id goes with the hook.

    >>> from collections import OrderedDict
    >>> hooks = OrderedDict()
    >>> handle = RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove()
    >>> len(hooks)
    0
    """

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extras)

    def remove(self):
        """Take the hook away; doing it twice is harmless."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state):
        hooks, self.id, extras = (*state, ())[:3]
        alive = OrderedDict() if hooks is None else hooks
        self.hooks_dict_ref = weakref.ref(alive)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in extras or ())
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.remove()


def unserializable_hook(f):
    """Mark a tensor hook so that saving its tensor warns that the hook is not saved along."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warn for each hook on ``tensor`` that pickling would lose."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


class BackwardHook:
    """One call of a module with full backward hooks.

    The call's tensor inputs, and later its tensor outputs, pass through an identity node each. The hook on
    the output node catches ``grad_output``; the hook on the input node runs the user's hooks once
    ``grad_input`` is known.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs = None
        self.input_places, self.input_count = None, -1
        self.output_places, self.output_count = None, -1

    def setup_input_hook(self, args):
        """The positional arguments with their tensors rerouted through the input node."""
        self.input_count = len(args)
        args, self.input_places = self._reroute(args, self._hook_inputs)
        return args

    def setup_output_hook(self, result):
        """The module's result with its tensors rerouted through the output node."""
        single = not isinstance(result, tuple)
        results = (result,) if single else result
        self.output_count = len(results)
        results, self.output_places = self._reroute(results, self._hook_outputs)
        return results[0] if single else results

    @staticmethod
    def _reroute(args, hook_node):
        from ..nn.modules._functions import BackwardHookFunction

        places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        if not (torch.is_grad_enabled() and any(args[i].requires_grad for i in places)):
            return args, None
        tensors = BackwardHookFunction.apply(*(args[i] for i in places))
        hook_node(next(t.grad_fn for t in tensors if t.grad_fn is not None))
        rerouted = list(args)
        for place, tensor in zip(places, tensors, strict=True):
            rerouted[place] = tensor
        return (tuple(rerouted) if type(args) is tuple else type(args)(*rerouted)), places

    @staticmethod
    def _spread(places, values, count):
        spread = [None] * count
        for place, value in zip(places, values, strict=True):
            spread[place] = value
        return tuple(spread)

    def _hook_inputs(self, node):
        def on_grad_input(grad_input, _grad_output):
            if self.grad_outputs is None:  # this backward did not come through the outputs
                return None
            grads = self._spread(self.input_places, grad_input, self.input_count)
            for hook in self.user_hooks:
                answer = hook(self.module, grads, self.grad_outputs)
                if answer is None:
                    continue
                answer = answer if isinstance(answer, (tuple, list)) else (answer,)
                if len(answer) != len(grads):
                    raise RuntimeError(
                        "Backward hook returned an invalid number of grad_input, "
                        f"got {len(answer)}, but expected {len(grads)}"
                    )
                grads = answer
            self.grad_outputs = None
            return tuple(grads[i] for i in self.input_places)

        node.register_hook(on_grad_input)

    def _hook_outputs(self, node):
        def on_grad_output(_grad_input, grad_output):
            self.grad_outputs = self._spread(self.output_places, grad_output, self.output_count)
            self._run_pre_hooks()
            grads = self.grad_outputs
            if self.input_places is None:
                self._run_without_inputs()
            return tuple(grads[i] for i in self.output_places)

        node.register_hook(on_grad_output)

    def _run_pre_hooks(self):
        for hook in self.user_pre_hooks:
            answer = hook(self.module, self.grad_outputs)
            if answer is None:
                continue
            answer = answer if isinstance(answer, (tuple, list)) else (answer,)
            if len(answer) != len(self.grad_outputs):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(answer)}, but expected {len(self.grad_outputs)}"
                )
            self.grad_outputs = tuple(answer)

    def _run_without_inputs(self):
        """No input needs a gradient: the user's hooks run here, with nothing to replace."""
        grad_inputs = (None,) * self.input_count
        for hook in self.user_hooks:
            answer = hook(self.module, grad_inputs, self.grad_outputs)
            if answer is not None and not (isinstance(answer, tuple) and all(g is None for g in answer)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None "
                    "or None for all gradients."
                )
        self.grad_outputs = None
