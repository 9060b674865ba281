"""The protocol of what has a state."""

from typing import Any, Protocol, runtime_checkable

from ..._missing import attach

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """What gives its state as a dict and takes it back: modules and optimizers do."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state."""
        ...


attach(__name__)
