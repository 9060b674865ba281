"""torch.compiler: nothing is compiled here."""


def is_compiling():
    """False: nothing is ever compiled."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn=None, recursive=True, *, reason=None):
    """``fn`` itself; also a decorator with options."""
    return (lambda function: function) if fn is None else fn


def reset():
    """Nothing to reset."""
