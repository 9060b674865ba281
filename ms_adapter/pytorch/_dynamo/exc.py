"""torch._dynamo.exc: the exceptions of PyTorch's compiler, for code that catches them; none is raised."""


class TorchDynamoException(RuntimeError):
    """A fault of the compiler."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault inside the compiler."""


class BackendCompilerFailed(TorchDynamoException):
    """A fault of a backend."""


class Unsupported(TorchDynamoException):
    """Code that the compiler has no graph for."""


class TorchRuntimeError(TorchDynamoException):
    """A fault of the code while it is compiled."""


class UserError(Unsupported):
    """A fault of the user's."""
