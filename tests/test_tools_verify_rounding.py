"""`verify`: what rounding does at a kink is no fault, what comes after it is still judged; reproducers."""

import pathlib
import subprocess
import sys

import pytest
from conftest import HAVE_TORCH

from ms_adapter.tools.verification.session import Request, verify_script

# Each fourth of the sums is 0 but for rounding, so relu's gradient depends on the order of the summands.
KINK = """import torch
torch.manual_seed(0)
a, c = torch.rand(64), torch.rand(64)
b = a + c + torch.where(torch.arange(64) % 4 == 0, 0.0, 0.5)
w = torch.nn.Parameter(torch.rand(64) + 1.0)
opt = torch.optim.Adam([w], lr=0.01)
for step in range(3):
    opt.zero_grad()
    x = w - w.detach() + c
    y = {pre}
    z = torch.nn.functional.relu(y.neg())
    loss = (z * torch.arange(64.0)).sum() + w.square().sum()
    loss.backward()
    opt.step()
    v = torch.softmax(w, 0)
print(v.sum())
"""
ONE, OTHER = "x.add(a).sub(b)", "torch.addcmul(torch.rsub(b, a), torch.ones(64), x)"


def compare(tmp_path, reference, ours):
    """The outcome for two versions of a script on our engine, without perturbed runs."""
    for name, text in (("a.py", reference), ("b.py", ours)):
        (tmp_path / name).write_text(text)
    return verify_script(
        Request(
            script=str(tmp_path / "b.py"),
            reference_script=str(tmp_path / "a.py"),
            reference_engine="ours",
            spread_runs=0,
            folder=str(tmp_path / "out"),
        )
    )


def test_a_kink_is_no_fault(tmp_path):
    outcome = compare(tmp_path, KINK.format(pre=ONE), KINK.format(pre=OTHER))
    assert outcome.finding is None, outcome.finding
    assert outcome.amplified > 0 and "b.py" in outcome.amplified_first


@pytest.mark.parametrize(
    "right, wrong, line",
    [
        ("torch.softmax(w, 0)", "torch.softmax(w * 1.001, 0)", 15),
        pytest.param("w.square().sum()", "w.square().mean()", 12, marks=pytest.mark.slow),
        ("torch.optim.Adam([w], lr=0.01)", "torch.optim.Adam([w], lr=0.02)", 6),
        pytest.param("loss.backward()", "(2 * loss).backward()", 13, marks=pytest.mark.slow),
    ],
)
def test_a_fault_after_a_kink_is_found(right, wrong, line, tmp_path):
    outcome = compare(tmp_path, KINK.format(pre=ONE), KINK.format(pre=OTHER).replace(right, wrong))
    assert outcome.finding is not None and outcome.finding.line.line == line, outcome.finding


MODEL = """import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh())
opt = torch.optim.Adam(net.parameters(), lr=0.01, eps=1e-8)
x = torch.randn(5, 4)
for step in range(2):
    h = net(x)
    loss = (h.exp() * h).sum()
    loss.backward()
    opt.step()
    opt.zero_grad()
"""


def distances(path, command):
    """What a reproducer prints: the largest distance to what each run got."""
    done = subprocess.run([*command, path], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("largest")]
    return {words[-2]: float(words[-1]) for words in lines}


@pytest.mark.parametrize(
    "right, wrong, phase, call",
    [
        ("h.exp() * h)", "h.exp() * h.detach())", "backward", "result.backward(t[1])"),
        ("eps=1e-8", "eps=1e-2", "step", "optimizer.step()"),
    ],
)
def test_gradients_and_steps_have_reproducers(right, wrong, phase, call, tmp_path):
    finding = compare(tmp_path, MODEL, MODEL.replace(right, wrong)).finding
    assert finding is not None and finding.phase == phase
    text = pathlib.Path(finding.reproducer).read_text()
    assert call in text and len(text.splitlines()) < 24
    commands = [[sys.executable, "-m", "ms_adapter", "run"]]
    if HAVE_TORCH:
        commands.append([sys.executable])
    for command in commands:
        found = distances(finding.reproducer, command)
        assert found["ours"] < 1e-6 < 1e-5 < found["reference"]
