"""accelerate: a prepared model, optimizer, loader and scheduler; accumulation, clipping, saved states."""

import tempfile

import torch
from accelerate import Accelerator
from checks import check
from problem import problem


def run(**options):
    accelerator = Accelerator(cpu=True, **options)
    model, optimizer, loader = problem()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    losses = []
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()).mean().item())
    return accelerator, model, losses


with check("a loop") as c:
    c.values = run()[2]

with check("accumulation") as c:
    c.values = run(gradient_accumulation_steps=2)[2]

with check("save_state, load_state") as c:
    accelerator, model, _ = run()
    inner = accelerator.unwrap_model(model)
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        kept = inner[0].weight.detach().clone()
        with torch.no_grad():
            inner[0].weight.zero_()
        accelerator.load_state(folder)
    c.values = [bool((kept == inner[0].weight).all()), kept]
