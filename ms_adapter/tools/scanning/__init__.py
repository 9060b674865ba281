"""ms-adapter scan: which names of PyTorch a program uses, and what becomes of each on every target."""
