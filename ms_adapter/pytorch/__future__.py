"""torch.__future__: how modules convert their parameters."""

_overwrite_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value):
    """Whether ``Module.to`` and the like put new parameters in place of changing the old ones' data."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion():
    """What :func:`set_overwrite_module_params_on_conversion` was given."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value):
    """Swapping tensors in place of setting their data is not supported: ``True`` raises."""
    if value:
        raise NotImplementedError(
            "torch.__future__: swapping module parameters on conversion is not supported yet."
        )


def get_swap_module_params_on_conversion():
    """False: swapping is not supported."""
    return False
