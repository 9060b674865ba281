"""torch.utils.dlpack: tensors handed to and from other libraries without a copy."""

import enum

import ms_adapter.pytorch as torch

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]

from_dlpack = torch.from_dlpack


class DLDeviceType(enum.IntEnum):
    """DLPack's numbers of device types."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor):
    """A DLPack capsule of the tensor's memory, to be taken once.

    >>> import ms_adapter.pytorch as torch
    >>> torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))
    tensor([1., 1.])
    """
    return tensor.__dlpack__()
