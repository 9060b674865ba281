"""torch._dynamo.external_utils: what libraries take from there."""

from ..compiler import is_compiling  # noqa: F401
