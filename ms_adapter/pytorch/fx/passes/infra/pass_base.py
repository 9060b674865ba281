"""A base class for passes, which are called on a module and say whether they changed it."""

import typing

__all__ = ["PassBase", "PassResult"]


class PassResult(typing.NamedTuple):
    """The module after a pass, and whether the pass changed it."""

    graph_module: object
    modified: bool


class PassBase:
    """A pass: ``call(module)`` does the work; ``requires`` and ``ensures`` may check before and after.

    >>> import ms_adapter.pytorch as torch
    >>> class Clean(PassBase):
    ...     def call(self, graph_module):
    ...         return PassResult(graph_module, graph_module.graph.eliminate_dead_code())
    >>> Clean()(torch.fx.symbolic_trace(lambda x: x + 1)).modified
    False
    """

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    def call(self, graph_module):
        """The pass itself: returns a PassResult (or None)."""
        raise NotImplementedError(f"{type(self).__name__} does not define call(graph_module).")

    def requires(self, graph_module):
        """Checks before the pass."""

    def ensures(self, graph_module):
        """Checks after the pass."""
