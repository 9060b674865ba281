"""No module at all: functions, torch.autograd.grad, linear algebra, fft, sort."""

import torch
import torch.nn.functional as F

torch.manual_seed(14)


def params():
    g = torch.Generator().manual_seed(3)
    return [
        (torch.randn(16, 4, generator=g) * 0.5).requires_grad_(),
        torch.zeros(16, requires_grad=True),
        (torch.randn(1, 16, generator=g) * 0.3).requires_grad_(),
    ]


w1, b1, w2 = params()
x = torch.randn(50, 4)
y = torch.sin(x[:, :1]) * x[:, 1:2]


def model(x, w1, b1, w2):
    return F.linear(F.leaky_relu(F.linear(x, w1, b1), 0.1), w2)


for i in range(20):
    loss = F.mse_loss(model(x, w1, b1, w2), y)
    gs = torch.autograd.grad(loss, (w1, b1, w2))
    with torch.no_grad():
        for p, g in zip((w1, b1, w2), gs):
            p -= 0.1 * g
    if i % 5 == 0:
        print(loss.item(), torch.linalg.matrix_norm(w1, 2).item())
s = torch.linalg.svdvals(w1.detach())
q, r = torch.linalg.qr(x)
print(s.sum().item(), (q @ r - x).abs().max().item() < 1e-5)
print(torch.fft.rfft(x[:, 0]).abs().sum().item(), torch.sort(x[:, 1]).values[3].item())
