"""A pickle reader in which nothing runs but what a table allows: a small machine over pickle's opcodes."""

import _codecs
import _compat_pickle
import pickletools
import reprlib
import struct
from collections import Counter, OrderedDict
from pickle import UnpicklingError

import ms_adapter.pytorch as torch

from .limits import Budget
from .naming import check_present
from .safe_globals import added, allowed, callable_by_default, rebuilders

_MARK = object()
_HIGHEST_PROTOCOL = 5
_LONGEST_NAME = 200  # characters of a name that an error repeats
_PLAIN_CONTAINERS = (set, frozenset, bytearray, complex, Counter, OrderedDict, torch.Size, _codecs.encode)


def load(file, size, persistent_load):
    """The object in the pickle at ``file``, which has ``size`` bytes left and is left just behind the pickle.

    Raises UnpicklingError at the first name that is not allowed, before anything of it was used. Memory and
    time stay in proportion to ``size``.
    """
    machine = _Machine(file, size, persistent_load)
    try:
        return machine.run()
    except (UnpicklingError, RuntimeError, MemoryError, OSError):
        raise
    except Exception as err:  # what Python says of values that do not fit together
        if err is machine.error_of_caller:
            raise
        text = reprlib.repr(str(err))
        raise UnpicklingError(f"torch.load: the file is not a valid pickle: {text}") from err


def full_name(module, name):
    """The present name of a global, whatever Python's version wrote it."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    else:
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
    return f"{module}.{name}"


def globals_of(file):
    """The names that the pickle at ``file`` uses; nothing of it is run."""
    names, recent, memo = [], [], {}
    for opcode, arg, _ in pickletools.genops(file):
        if opcode.name == "GLOBAL":
            names.append(full_name(*arg.split(" ", 1)))
        elif opcode.name == "STACK_GLOBAL":
            names.append(full_name(*recent[-2:]))
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = recent[-1] if recent else None
        elif opcode.name in ("BINPUT", "LONG_BINPUT"):
            memo[arg] = recent[-1] if recent else None
        elif opcode.name in ("BINGET", "LONG_BINGET"):
            arg = memo.get(arg)
        if isinstance(arg, str):
            recent.append(arg)
    return list(dict.fromkeys(names))


class _Machine:
    def __init__(self, file, size, persistent_load):
        self.file, self.persistent_load = file, persistent_load
        self.error_of_caller = None
        self.stack, self.memo = [], {}
        self.budget = Budget(size)
        self.allowed = allowed()
        self.callables = callable_by_default()
        self.added = {id(value) for value in added()}
        self.rebuilders = rebuilders()

    def run(self):
        read, file, stop = self.file.read, self.file, b"."
        while (code := read(1)) != stop:
            step = _STEPS.get(code)
            if step is None:
                if not code:
                    raise UnpicklingError("torch.load: the pickle ends early.")
                raise UnpicklingError(
                    f"torch.load: pickle opcode {code!r} is not supported with weights_only=True."
                )
            method, read_argument = step
            method(self, read_argument(file) if read_argument else None)
        return self.pop()

    def pop(self):
        value = self.stack.pop()
        if value is _MARK:
            raise UnpicklingError("torch.load: the pickle's stack is in disorder.")
        return value

    def above_mark(self):
        stack = self.stack
        place = len(stack) - 1
        while stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise UnpicklingError("torch.load: the pickle's stack lacks a mark.")
        items = stack[place + 1 :]
        del stack[place:]
        return items

    def take(self, count):
        items = self.stack[-count:]
        if len(items) < count or _MARK in map(_identity, items):
            raise UnpicklingError("torch.load: the pickle's stack is in disorder.")
        del self.stack[-count:]
        return items

    # ---- stack and memo -------------------------------------------------------------------------
    def push(self, value):
        self.stack.append(value)

    def proto(self, version):
        if version > _HIGHEST_PROTOCOL:
            raise UnpicklingError(f"torch.load: unknown pickle protocol {version}.")

    def frame(self, _size):
        pass

    def mark(self, _arg):
        self.stack.append(_MARK)

    def drop(self, _arg):
        self.stack.pop()

    def drop_mark(self, _arg):
        self.above_mark()

    def dup(self, _arg):
        self.stack.append(self.stack[-1])

    def put(self, place):
        self.memo[place] = self.stack[-1]

    def memoize(self, _arg):
        self.memo[len(self.memo)] = self.stack[-1]

    def get(self, place):
        self.stack.append(self.memo[place])

    # ---- containers -----------------------------------------------------------------------------
    def tuple_above_mark(self, _arg):
        self.stack.append(tuple(self.above_mark()))

    def list_above_mark(self, _arg):
        self.stack.append(self.above_mark())

    def frozenset_above_mark(self, _arg):
        self.stack.append(frozenset(self.budget.keys(self.above_mark())))

    def dict_above_mark(self, _arg):
        made = {}
        items = self.above_mark()
        self.stack.append(made)
        self.set_all(items)

    def append(self, _arg):
        item = self.pop()
        self.extend([item])

    def appends(self, _arg):
        self.extend(self.above_mark())

    def extend(self, items):
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"torch.load: can only append to lists, not to {type(self.stack[-1])}.")
        self.stack[-1].extend(items)

    def setitem(self, _arg):
        self.set_all(self.take(2))

    def setitems(self, _arg):
        self.set_all(self.above_mark())

    def set_all(self, items):
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise UnpicklingError(f"torch.load: can only set items of dictionaries, not of {type(target)}.")
        keys = items[::2]
        self.budget.keys(keys)
        for key, value in zip(keys, items[1::2], strict=True):
            target[key] = value

    def additems(self, _arg):
        items = self.above_mark()
        if type(self.stack[-1]) is not set:
            raise UnpicklingError(f"torch.load: can only add items to sets, not to {type(self.stack[-1])}.")
        self.stack[-1].update(self.budget.keys(items))

    # ---- names and what is made with them -------------------------------------------------------
    def global_by_name(self, arg):
        module, _, name = arg.partition(" ")
        self.push_global(module, name)

    def global_from_stack(self, _arg):
        module, name = self.take(2)
        if type(module) is not str or type(name) is not str:
            raise UnpicklingError("torch.load: a global's name must be text.")
        self.push_global(module, name)

    def push_global(self, module, name):
        full = full_name(module, name)
        if full not in self.allowed:
            raise UnpicklingError(_refusal(full))
        self.stack.append(self.allowed[full])

    def reduce(self, _arg):
        function, args = self.take(2)
        self.stack.append(self.call(function, args, "REDUCE"))

    def newobj(self, _arg):
        cls, args = self.take(2)
        if id(cls) in self.added and isinstance(cls, type):
            self.stack.append(cls.__new__(cls, *args))
        else:
            self.stack.append(self.call(cls, args, "NEWOBJ"))

    def call(self, function, args, opcode):
        """The function's result, if it may be called with these arguments."""
        if type(args) is not tuple:
            raise UnpicklingError(f"torch.load: {opcode} needs a tuple of arguments, not {type(args)}.")
        if id(function) in self.added:
            return function(*args)
        if id(function) not in self.callables:
            raise UnpicklingError(
                f"torch.load: {opcode} may only call what is allowed, not {reprlib.repr(function)}."
            )
        if function is torch._tensor._rebuild_from_type_v2:
            return self.rebuild_of_type(*args)
        if function in _PLAIN_CONTAINERS:
            self.budget.arguments(function, args)
        elif function is torch._utils._rebuild_parameter_with_state:
            self.budget.state(args[3])
        return function(*args)

    def rebuild_of_type(self, function, new_type, args, state):
        if id(function) not in self.rebuilders:
            raise UnpicklingError("torch.load: a tensor's subclass must be rebuilt from a tensor.")
        if not (isinstance(new_type, type) and issubclass(new_type, torch.Tensor)):
            raise UnpicklingError(f"torch.load: {reprlib.repr(new_type)} is no class of tensors.")
        self.budget.state(state)
        made = self.call(function, args, "REDUCE")
        return torch._tensor._rebuild_from_type_v2(lambda: made, new_type, (), state)

    def build(self, _arg):
        state = self.pop()
        instance = self.stack[-1]
        restore = getattr(type(instance), "__setstate__", None)
        if id(type(instance)) in self.added and not isinstance(instance, torch.Tensor):
            if restore is not None:
                restore(instance, state)
            else:
                torch._utils._set_obj_state(instance, state)
            return
        self.budget.state(state)
        if type(instance) is OrderedDict and type(state) is dict:
            instance.__dict__.update(state)
        elif isinstance(instance, torch.Tensor):
            restore(instance, state)
        else:
            raise UnpicklingError(
                f"torch.load: cannot set the state of {type(instance)} with weights_only=True."
            )

    def persistent(self, _arg):
        saved_id = self.pop()
        try:
            self.stack.append(self.persistent_load(saved_id))
        except Exception as err:
            self.error_of_caller = err
            raise


def _identity(item):
    return _MARK if item is _MARK else None


def _refusal(full):
    """Why a name is not allowed, and what one can do."""
    full = full[:_LONGEST_NAME]
    try:
        check_present(full)
    except NotImplementedError as err:
        return f"Weights only load failed: {err}"
    return (
        f"Weights only load failed: the file uses {full}, which is not an allowed global. If you trust the "
        "file's source, either allow it with torch.serialization.add_safe_globals"
        f"([{full.rpartition('.')[2]}]), or load with weights_only=False, which runs code from the file."
    )


# ---- opcodes ------------------------------------------------------------------------------------
def _exactly(file, count):
    data = file.read(count)
    if len(data) != count:
        raise UnpicklingError("torch.load: the pickle ends early.")
    return data


def _number(layout):
    unpack, size = struct.Struct(layout).unpack, struct.calcsize(layout)
    return lambda file: unpack(_exactly(file, size))[0]


def _sized(read_size, decode):
    return lambda file: decode(_exactly(file, read_size(file)))


def _to_text(data):
    return str(data, "utf-8", "surrogatepass")


def _integer(data):
    return int.from_bytes(data, "little", signed=True)


_u1, _u2, _u4, _i4, _u8 = _number("<B"), _number("<H"), _number("<I"), _number("<i"), _number("<Q")
_old = {opcode.code.encode("latin-1"): opcode.arg.reader for opcode in pickletools.opcodes if opcode.arg}
_push = _Machine.push


def _constant(make):
    return lambda machine, _arg: machine.stack.append(make())


def _int_place(file):
    return int(_old[b"p"](file))


_STEPS = {
    b"\x80": (_Machine.proto, _u1), b"\x95": (_Machine.frame, _u8),
    # values
    b"N": (_push, None), b"\x88": (_constant(lambda: True), None), b"\x89": (_constant(lambda: False), None),
    b"}": (_constant(dict), None), b"]": (_constant(list), None), b")": (_constant(tuple), None),
    b"\x8f": (_constant(set), None),
    b"K": (_push, _u1), b"M": (_push, _u2), b"J": (_push, _i4), b"G": (_push, _number(">d")),
    b"\x8a": (_push, _sized(_u1, _integer)), b"\x8b": (_push, _sized(_u4, _integer)),
    b"I": (_push, _old[b"I"]), b"L": (_push, _old[b"L"]), b"F": (_push, _old[b"F"]),
    b"S": (_push, _old[b"S"]), b"V": (_push, _old[b"V"]),
    b"T": (_push, _sized(_u4, lambda data: data.decode("latin-1"))),
    b"U": (_push, _sized(_u1, lambda data: data.decode("latin-1"))),
    b"X": (_push, _sized(_u4, _to_text)), b"\x8c": (_push, _sized(_u1, _to_text)),
    b"\x8d": (_push, _sized(_u8, _to_text)),
    b"B": (_push, _sized(_u4, bytes)), b"C": (_push, _sized(_u1, bytes)),
    b"\x8e": (_push, _sized(_u8, bytes)), b"\x96": (_push, _sized(_u8, bytearray)),
    # stack and memo
    b"(": (_Machine.mark, None), b"0": (_Machine.drop, None), b"1": (_Machine.drop_mark, None),
    b"2": (_Machine.dup, None), b"\x94": (_Machine.memoize, None),
    b"q": (_Machine.put, _u1), b"r": (_Machine.put, _u4), b"p": (_Machine.put, _int_place),
    b"h": (_Machine.get, _u1), b"j": (_Machine.get, _u4), b"g": (_Machine.get, _int_place),
    # containers
    b"t": (_Machine.tuple_above_mark, None), b"l": (_Machine.list_above_mark, None),
    b"d": (_Machine.dict_above_mark, None), b"\x91": (_Machine.frozenset_above_mark, None),
    b"\x85": (lambda machine, _arg: machine.push(tuple(machine.take(1))), None),
    b"\x86": (lambda machine, _arg: machine.push(tuple(machine.take(2))), None),
    b"\x87": (lambda machine, _arg: machine.push(tuple(machine.take(3))), None),
    b"a": (_Machine.append, None), b"e": (_Machine.appends, None), b"s": (_Machine.setitem, None),
    b"u": (_Machine.setitems, None), b"\x90": (_Machine.additems, None),
    # names and what is made with them
    b"c": (_Machine.global_by_name, _old[b"c"]), b"\x93": (_Machine.global_from_stack, None),
    b"R": (_Machine.reduce, None), b"\x81": (_Machine.newobj, None), b"b": (_Machine.build, None),
    b"Q": (_Machine.persistent, None),
}  # fmt: skip
