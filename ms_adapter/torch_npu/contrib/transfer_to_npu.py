"""Imported by scripts so that `cuda` means `npu`: both mean the accelerator here, without it."""
