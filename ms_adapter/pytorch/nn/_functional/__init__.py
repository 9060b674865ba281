"""The parts of torch.nn.functional that PyTorch writes in Python, by family."""
