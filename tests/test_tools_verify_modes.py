"""`verify` between dtypes, engines, eager and graph mode, and two versions of a script."""

import pathlib

import pytest
from conftest import HAVE_TORCH

from ms_adapter.tools.frame import ToolError
from ms_adapter.tools.verification.processes import Launchers
from ms_adapter.tools.verification.session import Request, verify_script

SCRIPTS = pathlib.Path(__file__).parent / "verify_scripts"
needs_pytorch = pytest.mark.skipif(not HAVE_TORCH, reason="needs PyTorch: pip install --group test")

STEP = """import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
@torch.compile
def train_step(x, y):
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
    return loss
for i in range(6):
    x = torch.randn(6, 4)
    loss = train_step(x, x.sum(1, keepdim=True))
    print(loss.item())
"""


@pytest.fixture(scope="module")
def launchers():
    """PyTorch is loaded once for all tests here."""
    with Launchers() as shared:
        yield shared


def compare(tmp_path, launchers, script, reference=None, **options):
    """The outcome for scripts given as text, our engine being the reference unless told otherwise."""
    for name, text in (("a.py", reference or script), ("b.py", script)):
        (tmp_path / name).write_text(text)
    options = {"reference_engine": "ours", "spread_runs": 1, **options}
    request = Request(
        script=str(tmp_path / "b.py"), reference_script=str(tmp_path / "a.py"), folder=str(tmp_path / "out"),
        **options,
    )  # fmt: skip
    return verify_script(request, launchers=launchers)


@needs_pytorch
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize(
    "script",
    ["gan", pytest.param("cnn", marks=pytest.mark.slow), pytest.param("vae", marks=pytest.mark.slow)],
)
def test_another_dtype_is_no_finding(script, dtype, tmp_path, launchers):
    request = Request(script=str(SCRIPTS / f"{script}.py"), dtype=dtype, spread_runs=1, folder=str(tmp_path))
    outcome = verify_script(request, launchers=launchers)
    assert outcome.finding is None and outcome.compared > 500, outcome.finding


def test_a_fault_is_found_in_another_dtype(tmp_path, launchers):
    text = (SCRIPTS / "gan.py").read_text()
    wrong = text.replace("nn.LeakyReLU(0.2), nn.Dropout", "nn.LeakyReLU(0.1), nn.Dropout")
    finding = compare(tmp_path, launchers, wrong, text, dtype="float64").finding
    assert finding is not None and "leaky_relu" in finding.operator
    assert [d for d in finding.differences if d["name"] == "negative_slope"]


@needs_pytorch
def test_two_versions_under_pytorch(tmp_path, launchers):
    eager = STEP.replace("@torch.compile\n", "")
    options = {"engine": "pytorch", "reference_engine": "pytorch"}
    assert compare(tmp_path, launchers, eager, **options).finding is None
    finding = compare(
        tmp_path, launchers, eager.replace("momentum=0.9", "momentum=0.8"), eager, **options
    ).finding
    assert finding is not None and finding.line.line == 4 and finding.phase == "step"


def test_graph_mode(tmp_path, launchers):
    outcome = compare(tmp_path, launchers, STEP, compile="replay")
    assert outcome.finding is None and outcome.programs > 0 and outcome.compared > 20, outcome
    finding = compare(
        tmp_path, launchers, STEP.replace("momentum=0.9", "momentum=0.8"), STEP, compile="replay"
    ).finding
    assert finding is not None and finding.operator == "train_step" and finding.line.line == 14


def test_graph_mode_of_modules(tmp_path, launchers):
    eager = STEP.replace("@torch.compile\n", "")
    outcome = compare(tmp_path, launchers, eager, compile="replay")
    assert outcome.finding is None and outcome.programs > 0 and outcome.steps == 6
    finding = compare(tmp_path, launchers, eager.replace("0.2", "0.3"), eager, compile="replay").finding
    assert finding is not None and finding.module == "Sequential"


def test_graph_mode_that_is_not_there(tmp_path, launchers):
    with pytest.raises(ToolError, match="nothing was compiled"):
        compare(tmp_path, launchers, "import torch\nprint(torch.ones(3).sum())\n", compile="replay")
