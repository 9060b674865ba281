"""torch._dynamo.utils: counters of what the compiler did, which is nothing."""

import collections

counters = collections.defaultdict(collections.Counter)


def is_compile_supported(device_type):
    """False: nothing is compiled."""
    return False
