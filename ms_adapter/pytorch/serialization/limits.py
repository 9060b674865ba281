"""What a pickle from a stranger may cost: memory and time in proportion to its own size."""

import _codecs
import reprlib
from collections import Counter
from pickle import UnpicklingError

_FREE = 1 << 20  # elements that any file may copy
_MOST_ODD_KEYS = 20_000  # keys whose hashes a file can make collide
_DEEPEST_KEY = 50
_COLLISION_FREE = (str, bytes, bool, type(None))  # hashed with a secret, or too few
_SMALL_INT = 1 << 60  # ints below it are their own hashes
_ENCODINGS = ("latin1", "latin-1", "iso-8859-1", "utf-8", "utf8", "ascii")


class Budget:
    """Counts what one pickle of ``size`` bytes makes from values that it names again and again."""

    def __init__(self, size):
        self.copies, self.odd_keys = _FREE + size, _MOST_ODD_KEYS

    def copy(self, count):
        """``count`` elements are about to be copied."""
        self.copies -= count
        if self.copies < 0:
            raise UnpicklingError(
                "torch.load: the pickle copies its values more often than a file of its size can need."
            )

    def keys(self, keys):
        """The keys, which may be hashed: Python's hashing neither bounds depth nor remembers results."""
        for key in keys:
            kind = type(key)
            if kind not in _COLLISION_FREE and not (kind is int and -_SMALL_INT < key < _SMALL_INT):
                self._odd_key(key, _DEEPEST_KEY)
        return keys

    def _odd_key(self, key, depth):
        self.odd_keys -= 1
        if self.odd_keys < 0 or depth == 0:
            raise UnpicklingError(
                "torch.load: too many or too deep keys that are neither text nor small numbers; load with "
                "weights_only=False if you trust the file's source."
            )
        if isinstance(key, (tuple, frozenset)):
            for part in key:
                self._odd_key(part, depth - 1)

    def state(self, state):
        """Attributes that are about to be set: by names that are no part of Python's machinery."""
        for names in state if type(state) is tuple else (state,):
            if names is None:
                continue
            if type(names) is not dict or any(type(n) is not str or n.startswith("__") for n in names):
                raise UnpicklingError(f"torch.load: {reprlib.repr(names)} cannot be an object's state.")
            self.copy(len(names))

    def arguments(self, function, args):
        """A plain container or value is about to be made from these."""
        if function is complex:
            if not all(type(arg) in (int, float) for arg in args):
                raise UnpicklingError("torch.load: a complex number needs two numbers.")
        elif function is _codecs.encode:
            if not (len(args) == 2 and type(args[0]) is str and args[1] in _ENCODINGS):
                raise UnpicklingError(f"torch.load: _codecs.encode is for text, not {reprlib.repr(args)}.")
            self.copy(len(args[0]))
        elif function is bytearray:
            if args and not (type(args[0]) in (bytes, str) and all(arg in _ENCODINGS for arg in args[1:])):
                raise UnpicklingError(f"torch.load: a bytearray needs bytes, not {reprlib.repr(args)}.")
            self.copy(len(args[0]) if args else 0)
        elif args:
            self._container(function, args)

    def _container(self, function, args):
        (items,) = args
        if type(items) not in (list, tuple, dict, set, frozenset, Counter):
            raise UnpicklingError(f"torch.load: {function.__name__} needs a container, not {type(items)}.")
        self.copy(len(items))
        if isinstance(items, dict):
            return  # its keys are checked already
        if function.__name__ == "OrderedDict":
            items = [pair[0] for pair in items if type(pair) in (tuple, list) and len(pair) == 2]
        self.keys(items)
