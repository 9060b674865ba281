"""Questions about symbolic sizes, answered for sizes that are always numbers here."""

__all__ = [
    "free_symbols",
    "free_unbacked_symbols",
    "guard_bool",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "is_concrete_bool",
    "is_concrete_int",
    "statically_known_true",
]


def guard_int(a):
    """The number as an int."""
    return int(a)


def guard_bool(a):
    """The condition as a bool: it is always known."""
    return bool(a)


guard_or_false = guard_or_true = guard_size_oblivious = statically_known_true = guard_bool


def is_concrete_int(a):
    """Whether ``a`` is an int."""
    return isinstance(a, int)


def is_concrete_bool(a):
    """Whether ``a`` is a bool."""
    return isinstance(a, bool)


def free_symbols(val):
    """The empty set: no size is symbolic."""
    return set()


def has_free_symbols(val):
    """False: no size is symbolic."""
    return False


free_unbacked_symbols = free_symbols
