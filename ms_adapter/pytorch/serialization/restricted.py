"""A pickle reader in which nothing runs but what a table allows: a small machine over pickle's opcodes."""

import _compat_pickle
import pickletools
from collections import OrderedDict
from pickle import UnpicklingError

import ms_adapter.pytorch as torch

from .safe_globals import allowed

_MARK = object()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_SET": set}
_VALUES = {
    "INT",
    "BININT",
    "BININT1",
    "BININT2",
    "LONG",
    "LONG1",
    "LONG4",
    "FLOAT",
    "BINFLOAT",
    "STRING",
    "BINSTRING",
    "SHORT_BINSTRING",
    "UNICODE",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE8",
    "BINBYTES",
    "SHORT_BINBYTES",
    "BINBYTES8",
    "BYTEARRAY8",
}


def load(file, persistent_load):
    """The object in the pickle at ``file``, which is left just behind it.

    Raises UnpicklingError at the first name that is not allowed, before anything of it was used.
    """
    try:
        return _Machine(persistent_load).run(file)
    except UnpicklingError:
        raise
    except (ValueError, IndexError, KeyError, AttributeError, UnicodeDecodeError, EOFError) as err:
        raise UnpicklingError(f"torch.load: the file is not a valid pickle: {err}") from err


def full_name(module, name):
    """The present name of a global, whatever Python's version wrote it."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    else:
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
    return f"{module}.{name}"


def globals_of(file):
    """The names that the pickle at ``file`` uses; nothing of it is run."""
    names, recent = set(), []
    for opcode, arg, _ in pickletools.genops(file):
        if opcode.name == "GLOBAL":
            names.add(full_name(*arg.split(" ", 1)))
        elif opcode.name == "STACK_GLOBAL":
            names.add(full_name(*recent[-2:]))
        if isinstance(arg, str):
            recent.append(arg)
    return names


class _Machine:
    def __init__(self, persistent_load):
        self.persistent_load = persistent_load
        self.stack, self.memo = [], {}
        self.allowed = allowed()
        self.callables = {id(value) for value in self.allowed.values() if callable(value)}

    def run(self, file):
        for opcode, arg, _ in pickletools.genops(file):
            name = opcode.name
            if name in _VALUES:
                self.stack.append(arg)
            elif name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            elif name in _EMPTY:
                self.stack.append(_EMPTY[name]())
            elif name == "STOP":
                return self.stack.pop()
            elif name not in ("PROTO", "FRAME"):
                step = getattr(self, "_" + name.lower(), None)
                if step is None:
                    raise UnpicklingError(
                        f"torch.load: pickle opcode {name} is not supported with weights_only=True."
                    )
                step(arg)
        raise UnpicklingError("torch.load: the pickle ends early.")

    def _above_mark(self):
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def _take(self, count):
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return items

    # ---- stack and memo -------------------------------------------------------------------------
    def _mark(self, _arg):
        self.stack.append(_MARK)

    def _pop(self, _arg):
        self.stack.pop()

    def _pop_mark(self, _arg):
        self._above_mark()

    def _dup(self, _arg):
        self.stack.append(self.stack[-1])

    def _binput(self, arg):
        self.memo[int(arg)] = self.stack[-1]

    _put = _long_binput = _binput

    def _memoize(self, _arg):
        self.memo[len(self.memo)] = self.stack[-1]

    def _binget(self, arg):
        self.stack.append(self.memo[int(arg)])

    _get = _long_binget = _binget

    # ---- containers -----------------------------------------------------------------------------
    def _tuple(self, _arg):
        self.stack.append(tuple(self._above_mark()))

    def _tuple1(self, _arg):
        self.stack.append(tuple(self._take(1)))

    def _tuple2(self, _arg):
        self.stack.append(tuple(self._take(2)))

    def _tuple3(self, _arg):
        self.stack.append(tuple(self._take(3)))

    def _list(self, _arg):
        self.stack.append(self._above_mark())

    def _dict(self, _arg):
        items = self._above_mark()
        self.stack.append(dict(zip(items[::2], items[1::2], strict=True)))

    def _frozenset(self, _arg):
        self.stack.append(frozenset(self._above_mark()))

    def _append(self, _arg):
        item = self.stack.pop()
        self._extend([item])

    def _appends(self, _arg):
        self._extend(self._above_mark())

    def _extend(self, items):
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"torch.load: can only append to lists, not to {type(self.stack[-1])}.")
        self.stack[-1].extend(items)

    def _setitem(self, _arg):
        self._set_items(self._take(2))

    def _setitems(self, _arg):
        self._set_items(self._above_mark())

    def _set_items(self, items):
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise UnpicklingError(f"torch.load: can only set items of dictionaries, not of {type(target)}.")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def _additems(self, _arg):
        items = self._above_mark()
        if type(self.stack[-1]) is not set:
            raise UnpicklingError(f"torch.load: can only add items to sets, not to {type(self.stack[-1])}.")
        self.stack[-1].update(items)

    # ---- names and what is made with them -------------------------------------------------------
    def _global(self, arg):
        self._push_global(*arg.split(" ", 1))

    def _stack_global(self, _arg):
        self._push_global(*self._take(2))

    def _push_global(self, module, name):
        full = full_name(module, name)
        if full not in self.allowed:
            raise UnpicklingError(
                f"Weights only load failed: the file uses {full}, which is not an allowed global. If you "
                f"trust the "
                f"file's source, either allow it with torch.serialization.add_safe_globals([{name}]), or "
                f"load with "
                "weights_only=False, which runs code from the file."
            )
        self.stack.append(self.allowed[full])

    def _check_callable(self, function, opcode):
        if id(function) not in self.callables:
            raise UnpicklingError(f"torch.load: {opcode} may only call what is allowed, not {function!r}.")

    def _reduce(self, _arg):
        function, args = self._take(2)
        self._check_callable(function, "REDUCE")
        self.stack.append(function(*args))

    def _newobj(self, _arg):
        cls, args = self._take(2)
        self._check_callable(cls, "NEWOBJ")
        if cls is torch.nn.Parameter:
            self.stack.append(torch.nn.Parameter(*args))
        else:
            self.stack.append(cls.__new__(cls, *args))

    def _build(self, _arg):
        instance, state = self._take(2)
        self.stack.append(instance)
        if type(instance) is OrderedDict:
            instance.__dict__.update(state)
        elif isinstance(instance, torch.Tensor):
            torch._utils._set_obj_state(instance, state)
        elif id(type(instance)) in self.callables and not isinstance(instance, type):
            restore = getattr(instance, "__setstate__", None)
            if restore is not None:
                restore(state)
            else:
                torch._utils._set_obj_state(instance, state)
        else:
            raise UnpicklingError(
                f"torch.load: cannot set the state of {type(instance)} with weights_only=True."
            )

    def _binpersid(self, _arg):
        self.stack.append(self.persistent_load(self.stack.pop()))
