"""torch.backends: which libraries compute, and their switches."""

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp
