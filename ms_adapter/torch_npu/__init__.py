"""What `import torch_npu` finds under the runner: scripts for Ascend import it for torch.npu."""

from ms_adapter.pytorch import npu
