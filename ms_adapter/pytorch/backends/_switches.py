"""The switches of a library as names of its module: read, assigned, or set for a block with ``flags``."""

import contextlib
import sys


def switches(module_name, in_block, **defaults):
    """``set_flags`` and ``flags`` for a module, whose globals get ``defaults``.

    Args:
        module_name: the module.
        in_block: what ``flags()`` sets where its arguments say nothing.
        defaults: the switches, in the order of ``set_flags``'s arguments, and what they are at first.
    """
    state = vars(sys.modules[module_name])
    state.update(defaults)

    def set_flags(*values, **named):
        given = {
            **dict(zip(defaults, values, strict=False)),
            **{k.removeprefix("_"): v for k, v in named.items()},
        }
        if unknown := [name for name in given if name not in defaults]:
            raise TypeError(f"set_flags: no switch '{unknown[0]}'; those are {', '.join(defaults)}.")
        before = tuple(state[name] for name in defaults)
        state.update({name: value for name, value in given.items() if value is not None})
        return before

    @contextlib.contextmanager
    def flags(**given):
        before = set_flags(**{**in_block, **given})
        try:
            yield
        finally:
            state.update(zip(defaults, before, strict=True))

    set_flags.__doc__ = f"Set switches ({', '.join(defaults)}; None: as it is) and return those before."
    flags.__doc__ = f"Set switches ({', '.join(defaults)}) for a block."
    return set_flags, flags
