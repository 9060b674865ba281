"""Checkpoints of PyTorch and MindSpore: shown, and converted into each other (docs/ckpt.md)."""
