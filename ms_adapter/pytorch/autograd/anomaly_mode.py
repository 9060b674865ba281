"""Anomaly mode: a failing backward names the forward line, and NaN in a gradient fails."""

import warnings

from ms_adapter import _C

_native = _C.autograd

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Anomaly mode set to ``mode``, from the call on; used as a context manager, until its end."""

    def __init__(self, mode, check_nan=True):
        self.before = _native.is_anomaly_enabled(), _native.is_anomaly_check_nan_enabled()
        _native.set_anomaly(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exc_info):
        _native.set_anomaly(*self.before)


class detect_anomaly:
    """Inside, each operation remembers where it was called; a backward that fails, or with ``check_nan``
    makes NaN, says which forward call it belongs to. It costs time: for finding errors only."""

    def __init__(self, check_nan=True):
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
            "enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        self.before = _native.is_anomaly_enabled(), _native.is_anomaly_check_nan_enabled()
        _native.set_anomaly(True, self.check_nan)

    def __exit__(self, *exc_info):
        _native.set_anomaly(*self.before)
