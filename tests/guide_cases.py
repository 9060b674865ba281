"""Modules of the guide's kind that the tests train with MindSpore and without."""

from ms_adapter.pytorch import nn


class TenTimes(nn.Module):
    """A product whose `bprop` is not the product's derivative: who calls it is seen in the numbers."""

    def __init__(self):
        super().__init__()
        self.phase = "mine"

    def forward(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        return dout * 10, out + y
