"""torch.onnx: export is not here yet; what libraries prepare for it at their import is kept."""

from . import symbolic_helper

__all__ = ["export", "is_in_onnx_export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]

_symbolics = {}


def export(*args, **kwargs):
    """Raises NotImplementedError: export to ONNX is not supported yet."""
    raise NotImplementedError(
        "torch.onnx.export: not supported yet. Save the weights with torch.save and export them with PyTorch"
    )


def is_in_onnx_export():
    """False: nothing is being exported."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Remember how an operator would be written to ONNX from some version of its operators on."""
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Forget it."""
    _symbolics.pop((symbolic_name, opset_version), None)
