"""A small regression that the training libraries run their loops on."""

import torch

torch.set_default_dtype(torch.float64)


def problem():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.randn(32, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return (
        model,
        torch.optim.Adam(model.parameters(), lr=0.01),
        torch.utils.data.DataLoader(data, 8, shuffle=True),
    )
