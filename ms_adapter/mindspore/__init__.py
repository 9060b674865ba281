"""MindSpore as a device: `torch.device("mindspore")`."""
