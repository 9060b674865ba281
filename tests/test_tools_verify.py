"""`verify`: differences planted into a CNN, an LSTM and a transformer; clean scripts without false alarm."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import ms_adapter.pytorch as torch
from ms_adapter.tools import verify
from ms_adapter.tools.verification.processes import Launchers
from ms_adapter.tools.verification.session import Request, verify_script

SCRIPTS = pathlib.Path(__file__).parent / "verify_scripts"
CLEAN = sorted(path.stem for path in SCRIPTS.glob("*.py"))
QUICK_CLEAN = {"gan", "workers", "own_functions", "autocast"}
has_pytorch = importlib.util.find_spec("torch") is not None and "ms_adapter" not in str(
    importlib.util.find_spec("torch").origin
)
needs_pytorch = pytest.mark.skipif(not has_pytorch, reason="needs PyTorch: pip install --group test")

# script, what is wrong, the text that is right, the text that is wrong. The line of the former is wanted.
PLANTED = [
    ("cnn", "epsilon", "nn.BatchNorm2d(8)", "nn.BatchNorm2d(8, eps=1e-4)"),
    ("cnn", "batch norm's momentum", "nn.BatchNorm2d(16)", "nn.BatchNorm2d(16, momentum=0.2)"),
    ("cnn", "momentum", "momentum=0.9", "momentum=0.8"),
    ("cnn", "initialisation", "nn.init.kaiming_normal_(self.fc", "nn.init.kaiming_uniform_(self.fc"),
    ("cnn", "no initialisation", "        nn.init.kaiming_normal_(self.fc.weight)\n", ""),
    ("cnn", "dropout rate", "nn.Dropout(0.3)", "nn.Dropout(0.25)"),
    ("cnn", "dtype cast", "self.drop(x.flatten(1))", "self.drop(x.flatten(1).half().float())"),
    ("cnn", "missing eval", "net.eval()\n", ""),
    ("cnn", "sum for mean", "Y[i : i + 16])", "Y[i : i + 16], reduction='sum')"),
    ("cnn", "scaled loss", "loss.backward()", "(loss * 2).backward()"),
    ("cnn", "missing zero_grad", "        opt.zero_grad()\n", ""),
    ("lstm", "epsilon", "eps=1e-5", "eps=1e-6"),
    ("lstm", "Adam's epsilon", "eps=1e-8", "eps=1e-6"),
    ("lstm", "Adam's betas", "betas=(0.9, 0.99)", "betas=(0.9, 0.999)"),
    ("lstm", "initialisation", "nn.init.orthogonal_(p)", "nn.init.xavier_uniform_(p)"),
    ("lstm", "dropout rate", "dropout=0.2", "dropout=0.1"),
    ("lstm", "stale buffer", "self.mean.mul_(0.9).add_(h.detach().mean((0, 1)), alpha=0.1)", "pass"),
    ("lstm", "missing eval", "    model.eval()\n", ""),
    ("lstm", "wrong mask", "< lengths[:, None]", "<= lengths[:, None]"),
    ("lstm", "mean for masked mean", "losses.sum() / mask.sum()", "losses.mean()"),
    ("lstm", "unscaled loss", "        loss = loss / accumulate\n", ""),
    ("lstm", "dtype cast", "h = h - self.mean", "h = (h.bfloat16() - self.mean.bfloat16()).float()"),
    ("transformer", "wrong mask", "diagonal=1", "diagonal=0"),
    ("transformer", "transposed weight", "return y @ self.w", "return y @ self.w.t()"),
    ("transformer", "swapped arguments", "F.kl_div(p, q,", "F.kl_div(q, p,"),
    ("transformer", "swapped operands", "q @ k.transpose(-2, -1)", "k @ q.transpose(-2, -1)"),
    ("transformer", "dropout rate", "nn.Dropout(p)", "nn.Dropout(2 * p)"),
    ("transformer", "epsilon", "self.ln2 = nn.LayerNorm(dim)", "self.ln2 = nn.LayerNorm(dim, eps=1e-6)"),
    ("transformer", "initialisation", "std=0.02", "std=0.03"),
    ("transformer", "weight decay", "weight_decay=0.01", "weight_decay=0.0"),
    ("transformer", "missing eval", "model.eval()\n", ""),
    ("transformer", "sum for mean", "batch[:, 1:])", "batch[:, 1:], reduction='sum')"),
    ("transformer", "dtype cast", "F.softmax(scores, dim=-1)", "F.softmax(scores.half(), dim=-1).float()"),
    ("transformer", "stale buffer", "self.pos[: ids.size(1)]", "self.pos[:1]"),
    (
        "conv_gan",
        "missing norm",
        "nn.utils.spectral_norm(nn.Conv2d(1, 8, 4, 2, 1))",
        "nn.Conv2d(1, 8, 4, 2, 1)",
    ),
    ("conv_gan", "betas", "betas=(0.5, 0.999)", "betas=(0.9, 0.999)"),
    ("seq2seq", "mask's value", "masked_fill(mask, -1e9)", "masked_fill(mask, 0.0)"),
    ("seq2seq", "ignored class", "ignore_index=0", "ignore_index=1"),
    ("seq2seq", "clipping", "params, 0.5)", "params, 0.1)"),
    ("distributions", "smallest scale", "softplus(s) + 1e-4", "softplus(s) + 1e-3"),
    ("embedding_bags", "mode", 'mode="mean"', 'mode="sum"'),
    ("norms", "groups", "nn.GroupNorm(3, 12)", "nn.GroupNorm(4, 12)"),
    ("norms", "momentum", "momentum=0.5", "momentum=0.4"),
    ("accumulation", "nesterov", "nesterov=True", "nesterov=False"),
    ("accumulation", "schedule", "total_steps=8", "total_steps=16"),
    ("accumulation", "moving average", "lerp_(v, 0.1)", "lerp_(v, 0.2)"),
    ("tied_weights", "decay of norms", '"weight_decay": 0.0', '"weight_decay": 0.01'),
    ("own_functions", "wrong backward", "backward(ctx, g):\n        x, s", "backward(ctx, g):\n        s, x"),
    ("upsampling", "aligned corners", "align_corners=False", "align_corners=True"),
    ("residual", "missing eval", "net.eval()\n", ""),
    ("diffusion", "schedule", "(1 - abar[t]).sqrt() * eps", "(1 - abar[t]) * eps"),
    ("q_learning", "target's update", "0.05 * p.data + 0.95", "0.5 * p.data + 0.95"),
    ("functional", "slope", "b1), 0.1)", "b1), 0.01)"),
    ("sparse_embeddings", "sign", "-nn.functional.logsigmoid", "nn.functional.logsigmoid"),
    ("compiled", "residual", "x = x + act(layer(x)) * s", "x = act(layer(x)) * s"),
    ("lbfgs", "rate", "lr=0.5", "lr=0.4"),
]
QUICK = {
    ("cnn", "epsilon"), ("cnn", "missing eval"), ("cnn", "dropout rate"), ("lstm", "unscaled loss"),
    ("lstm", "wrong mask"), ("transformer", "swapped arguments"), ("transformer", "stale buffer"),
    ("transformer", "initialisation"), ("own_functions", "wrong backward"), ("lbfgs", "rate"),
}  # fmt: skip


@pytest.fixture(scope="module")
def launchers():
    """PyTorch is loaded once for all tests here."""
    with Launchers() as shared:
        yield shared


def cases():
    """The planted differences; most take too long for a quick run."""
    for case in PLANTED:
        marks = [] if case[:2] in QUICK else [pytest.mark.slow]
        yield pytest.param(*case, marks=marks, id=f"{case[0]}-{case[1]}")


@pytest.mark.parametrize("script, what, right, wrong", list(cases()))
def test_planted_difference(script, what, right, wrong, tmp_path, launchers):
    source = (SCRIPTS / f"{script}.py").read_text()
    assert right in source
    line = source[: source.index(right)].count("\n") + 1
    ours = tmp_path / f"{script}.py"
    ours.write_text(source.replace(right, wrong, 1))
    outcome = verify_script(
        Request(
            script=str(ours),
            reference_script=str(SCRIPTS / f"{script}.py"),
            reference_engine="pytorch" if has_pytorch else "ours",
            spread_runs=1,
            folder=str(tmp_path / "out"),
        ),
        launchers=launchers,
    )
    finding = outcome.finding
    assert finding is not None
    assert finding.line is not None and finding.line.line == line, [
        (p.side, p.what, p.line) for p in finding.places
    ]


@needs_pytorch
@pytest.mark.parametrize(
    "script", [pytest.param(name, marks=[] if name in QUICK_CLEAN else [pytest.mark.slow]) for name in CLEAN]
)
def test_no_false_alarm(script, tmp_path, launchers):
    request = Request(script=str(SCRIPTS / f"{script}.py"), folder=str(tmp_path / "out"))
    outcome = verify_script(request, launchers=launchers)
    assert outcome.finding is None, outcome.finding
    assert outcome.compared > 100 and (outcome.steps >= 3 or script == "functional")


def test_losses_are_the_same_with_and_without(tmp_path):
    script = str(SCRIPTS / "distill.py")
    request = Request(script=script, reference_engine="ours", spread_runs=0, folder=str(tmp_path / "out"))
    watched = verify_script(request).output["ours"]
    command = [sys.executable, "-m", "ms_adapter", "run", script]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert watched == plain and plain.count("\n") == 6


def test_an_error_is_a_finding_and_the_reproducer_runs(tmp_path):
    good = tmp_path / "good.py"
    good.write_text(
        "import torch\nx = torch.arange(6.).view(2, 3)\ny = torch.softmax(x, 1)\nprint(y @ y.t())\n"
    )
    bad = tmp_path / "bad.py"
    bad.write_text(good.read_text().replace("softmax(x, 1)", "softmax(x, 0)"))
    common = dict(reference_engine="ours", spread_runs=0, folder=str(tmp_path / "out"))
    finding = verify_script(Request(script=str(bad), reference_script=str(good), **common)).finding
    assert finding.line.line == 3 and finding.operator == "torch.softmax"
    ran = subprocess.run(
        [sys.executable, "-m", "ms_adapter", "run", finding.reproducer],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith("tensor([[")
    assert len((tmp_path / "out" / "reproduce.py").read_text().splitlines()) < 20
    bad.write_text(good.read_text().replace("y @ y.t()", "y @ y"))
    finding = verify_script(Request(script=str(bad), reference_script=str(good), **common)).finding
    assert finding.line.line == 4 and "Error" in finding.detail


@pytest.mark.parametrize(
    "right, wrong, name",
    [
        ("dropout(x, 0.5)", "dropout(x, 0.25)", "p"),
        ("layer_norm(x, (3,))", "layer_norm(x, (3,), eps=0.1)", "eps"),
    ],
)
def test_the_reproducer_gets_what_the_run_got(right, wrong, name, tmp_path):
    script = "import torch\nx = torch.rand(40, 3)\nprint(torch.nn.functional.{})\n"
    for file, call in (("a.py", right), ("b.py", wrong)):
        (tmp_path / file).write_text(script.format(call))
    finding = verify_script(
        Request(
            script=str(tmp_path / "b.py"), reference_script=str(tmp_path / "a.py"), reference_engine="ours",
            spread_runs=0, folder=str(tmp_path / "out"),
        )
    ).finding  # fmt: skip
    assert [d["name"] for d in finding.differences] == [name]
    assert (
        f"# the reference: torch.nn.functional.{right.partition('(')[0]}(t[0]"
        in pathlib.Path(finding.reproducer).read_text()
    )
    command = [sys.executable, "-m", "ms_adapter", "run", finding.reproducer]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    distance = {line.split()[-2]: float(line.split()[-1]) for line in printed if line.startswith("largest")}
    assert distance["ours"] == 0 and distance["reference"] > 0.01


def modules(**changed):
    """A reference and ours, which differs by an argument of its norm."""

    def make(**options):
        return torch.nn.Sequential(
            torch.nn.Linear(6, 8), torch.nn.LayerNorm(8, **options), torch.nn.GELU(), torch.nn.Linear(8, 2)
        )

    return make(), make(**changed)


def test_modules(tmp_path):
    x = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)

    def sgd(torch, parameters):
        return torch.optim.SGD(parameters, lr=0.1)

    a, b = modules()
    assert verify(a, b, x, steps=3, optimizer=sgd, folder=str(tmp_path)) is None
    a, b = modules(eps=1e-3)
    finding = verify(a, b, x, folder=str(tmp_path))
    assert finding.module == "Sequential.1" and {d["name"] for d in finding.differences} >= {"eps"}
    with pytest.raises(ValueError, match="no counterpart"):
        verify(a, torch.nn.Linear(6, 9), x)


@needs_pytorch
@pytest.mark.parametrize("seed", range(4))
def test_a_gradient_that_cancels_out(seed, tmp_path):
    """Of two samples batch norm makes 1 and -1: what its bias gets is their rounding alone."""
    import torch as pytorch

    x = np.random.RandomState(seed).randn(2, 8).astype(np.float32)

    def sgd(torch, parameters):
        return torch.optim.SGD(parameters, lr=0.1)

    pair = pytorch.nn.BatchNorm1d(8), torch.nn.BatchNorm1d(8)
    assert verify(*pair, [x], steps=2, optimizer=sgd, folder=str(tmp_path)) is None
    with torch.no_grad():
        pair[1].bias.add_(1e-4)
    assert verify(*pair, [x], copy_weights=False, folder=str(tmp_path)) is not None


@needs_pytorch
def test_a_module_of_pytorch(tmp_path):
    import torch as pytorch

    x = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
    reference = pytorch.nn.Sequential(pytorch.nn.Linear(6, 8), pytorch.nn.Tanh(), pytorch.nn.Linear(8, 2))
    ours = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    assert verify(reference, ours, x, folder=str(tmp_path)) is None
    ours[1] = torch.nn.Softsign()
    finding = verify(reference, ours, x, folder=str(tmp_path))
    assert finding.module == "Sequential.1"


def test_a_wrong_gradient_is_found(tmp_path):
    script = """import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
y = w.exp()
loss = Double.apply(y).sum()
loss.backward()
print(w.grad)
"""
    (tmp_path / "a.py").write_text(script)
    (tmp_path / "b.py").write_text(script.replace("return g * 2", "return g"))
    request = Request(
        script=str(tmp_path / "b.py"), reference_script=str(tmp_path / "a.py"), reference_engine="ours",
        spread_runs=1, folder=str(tmp_path / "out"),
    )  # fmt: skip
    finding = verify_script(request).finding
    assert finding is not None and finding.phase == "backward"


@needs_pytorch
@pytest.mark.parametrize(
    "layer", ["GroupNorm(2, 6, affine=False)", "LocalResponseNorm(2)", "Unfold(3, padding=1)"]
)
def test_arguments_given_otherwise_are_no_finding(layer, tmp_path, launchers):
    script = tmp_path / "s.py"
    script.write_text(f"import torch\nprint(torch.nn.{layer}(torch.rand(2, 6, 8, 8)).sum())\n")
    request = Request(script=str(script), spread_runs=1, folder=str(tmp_path / "out"))
    outcome = verify_script(request, launchers=launchers)
    assert outcome.finding is None and outcome.compared >= 3


def test_steps_are_counted_from_one_to_the_last(tmp_path):
    right = tmp_path / "a.py"
    right.write_text("""import torch
w = torch.nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([w], lr=0.1)
for i in range(2):
    (w * w).sum().backward()
    opt.step()
print(torch.nn.functional.softplus(w, 1))
""")
    wrong = tmp_path / "b.py"
    common = dict(script=str(wrong), reference_script=str(right), reference_engine="ours", spread_runs=0)
    for old, new, step in (
        ("(w * w)", "(w * w * (i + 1))", 2),
        ("(w, 1)", "(w, 2)", 2),
        ("w * w", "w * w * w", 1),
    ):
        wrong.write_text(right.read_text().replace(old, new))
        finding = verify_script(Request(**common, folder=str(tmp_path / "out"))).finding
        assert finding is not None and finding.step == step


@pytest.mark.parametrize("wrong", [("--steps", "-1"), ("--steps", "0"), ("--dtype", "foo")])
def test_wrong_usage(wrong):
    from ms_adapter.tools.verification.command import TOOL

    with pytest.raises(SystemExit) as left:
        TOOL.main([*wrong, "script.py"])
    assert left.value.code == 2


def test_command(tmp_path):
    script = tmp_path / "s.py"
    script.write_text("import torch\nprint(torch.ones(3).sum())\n")

    def call(*args):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "ms_adapter",
                "verify",
                "--json",
                "--reference-engine",
                "ours",
                "--spread-runs",
                "0",
                *map(str, args),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent.parent)},
        )
        return done.returncode, json.loads(done.stdout)

    code, found = call(str(script))
    assert code == 0 and found["same"] and "tensor(3.)" in found["output"]["ours"]
    script.write_text("print(1)\n")
    code, found = call(str(script))
    assert code == 2 and "nothing was compared" in found["error"]
    code, found = call("none.py")
    assert code == 2 and "no script" in found["error"]
    script.write_text("import torch\nraise ValueError('both')\n")
    code, found = call(str(script))
    assert code == 2 and "the reference run fails" in found["error"]
