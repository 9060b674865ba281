"""Lists and dicts that nodes keep their arguments in: changing one behind the node's back would lose its
users.
"""

import ms_adapter.pytorch.utils._pytree as _pytree

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self, *args, **kwargs):
    """Raises TypeError."""
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation: a node's arguments are changed by "
        "assigning "
        "new ones, as in node.args = (...) or node.kwargs = {...}."
    )


class immutable_list(list):
    """A list that cannot be changed.

    >>> immutable_list([1, 2])
    [1, 2]
    """

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that cannot be changed.

    >>> immutable_dict(a=1)
    {'a': 1}
    """

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (tuple(self.items()),)


_pytree.register_pytree_node(
    immutable_list, lambda items: (list(items), None), lambda items, _: immutable_list(items)
)
_pytree.register_pytree_node(
    immutable_dict,
    lambda items: (list(items.values()), list(items)),
    lambda values, keys: immutable_dict(zip(keys, values)),
)
