"""How a module tree is walked: named parameters, buffers, children and modules, in registration order."""


class Walk:
    """The iterating half of :class:`Module`."""

    __slots__ = ()

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for module_prefix, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield module_prefix + ("." if module_prefix else "") + name, value

    def parameters(self, recurse=True):
        """Iterate over the parameters; ``recurse=False`` leaves out those of submodules.

        >>> from ms_adapter.pytorch import nn
        >>> [tuple(p.shape) for p in nn.Linear(2, 3).parameters()]
        [(3, 2), (3,)]
        """
        for _name, param in self.named_parameters(recurse=recurse):
            yield param

    def trainable_params(self, recurse=True):
        """The parameters that require a gradient, as a list: MindSpore's name for it."""
        return [p for p in self.parameters(recurse) if p.requires_grad]

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterate over ``(name, parameter)``; a shared parameter comes once unless
        ``remove_duplicate=False``.
        """
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Iterate over the buffers; ``recurse=False`` leaves out those of submodules."""
        for _name, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterate over ``(name, buffer)``; a shared buffer comes once unless ``remove_duplicate=False``."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self):
        """Iterate over the direct submodules, each once."""
        for _name, module in self.named_children():
            yield module

    def named_children(self):
        """Iterate over ``(name, module)`` of the direct submodules, each module once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate=True):
        """Iterate over this module and everything below it, depth first."""
        for _name, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Iterate over ``(name, module)`` of this module (named ``prefix``) and everything below it.

        >>> from ms_adapter.pytorch import nn
        >>> [name for name, _ in nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh())).named_modules()]
        ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    memo, prefix + ("." if prefix else "") + name, remove_duplicate
                )

    def get_submodule(self, target):
        """The submodule at the dotted path ``target`` (``""`` is the module itself), or AttributeError."""
        module = self
        for name in target.split(".") if target else ():
            parent, module = module, getattr(module, name, None)
            if module is None:
                raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
            if not isinstance(module, _module_class()):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put ``module`` at the dotted path ``target``; with ``strict`` there must be one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, _module_class()):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent_path, _, name = target.rpartition(".")
        parent = self.get_submodule(parent_path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if not isinstance(getattr(parent, name, module), _module_class()):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter at the dotted path ``target``, or AttributeError."""
        from ..parameter import Parameter

        owner, name, value = self._find(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target):
        """The buffer at the dotted path ``target``, or AttributeError."""
        owner, name, value = self._find(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return value

    def _find(self, target):
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name, getattr(owner, name)


def _module_class():
    from .module import Module

    return Module
