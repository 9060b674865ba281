"""einops: rearrangements of tensors and its layers, trained for some steps."""

import torch
from checks import check, train
from einops import einsum, rearrange, reduce, repeat
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.set_default_dtype(torch.float64)

with check("functions") as c:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 4, requires_grad=True)
    y = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)
    z = repeat(reduce(x, "b c h w -> b c", "mean"), "b c -> b c k", k=2)
    w = einsum(y, y, "b i d, b j d -> b i j")
    (y.pow(2).sum() + z.sum() + w.sin().sum()).backward()
    c.values = [y, z, w, x.grad]

with check("layers") as c:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1),
        Reduce("b c (h p) (w q) -> b c h w", "max", p=2, q=2),
        Rearrange("b c h w -> b (c h w)"),
        EinMix("b i -> b o", weight_shape="i o", bias_shape="o", i=16, o=5),
    )
    x = torch.randn(8, 3, 4, 4)
    c.values = train(torch, model, lambda m: m(x).pow(2).mean())
