"""torch.version: the PyTorch version whose behaviour is followed, and what it would be built with."""

__version__ = "2.13.0"
debug = False
cuda = None
hip = None
xpu = None
git_version = "unknown"
