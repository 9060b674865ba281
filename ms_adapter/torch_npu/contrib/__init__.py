"""torch_npu.contrib: holds transfer_to_npu."""
