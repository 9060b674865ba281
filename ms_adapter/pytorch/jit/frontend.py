"""torch.jit.frontend: the exceptions that code which tries to script something catches."""


class NotSupportedError(RuntimeError):
    """Something that TorchScript has no word for; never raised here."""


class UnsupportedNodeError(NotSupportedError):
    """The same of a statement."""


class FrontendError(Exception):
    """A fault of the compiler; never raised here."""
