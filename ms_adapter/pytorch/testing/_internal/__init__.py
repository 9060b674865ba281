"""torch.testing._internal: what libraries' own tests take from PyTorch's."""
