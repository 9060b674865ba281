"""Modules of settings: what is set is kept, and changes nothing."""

import contextlib
import types


class Settings(types.ModuleType):
    """A module whose attributes may all be set, as those of torch._dynamo.config."""

    def patch(self, arg=None, value=None, **changes):
        """A context manager, and decorator, inside which settings are others."""
        if isinstance(arg, str):
            changes = {arg: value}
        elif arg is not None:
            changes = dict(arg)
        return self._changed(changes)

    @contextlib.contextmanager
    def _changed(self, changes):
        before = {name: vars(self)[name] for name in changes if name in vars(self)}
        vars(self).update(changes)
        try:
            yield
        finally:
            for name in changes:
                vars(self).pop(name)
            vars(self).update(before)

    def to_dict(self):
        """The settings as a dict."""
        kept = {n: v for n, v in vars(self).items() if n[0] != "_" and not isinstance(v, types.ModuleType)}
        return {name: value for name, value in kept.items() if not callable(value)}

    get_config_copy = shallow_copy_dict = to_dict

    def load_config(self, config):
        """Sets all of a dict."""
        vars(self).update(config)
