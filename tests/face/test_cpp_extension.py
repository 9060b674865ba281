"""Kernels in C++: the worked example of the documentation, builds and their cache, errors."""

import os
import re
import shutil
from pathlib import Path

import pytest

import ms_adapter.pytorch as torch
from ms_adapter.pytorch.utils import _kernel_build, cpp_extension

DOCS = Path(__file__).parents[2] / "docs" / "cpp_extension.md"

pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None and not os.environ.get("CI"), reason="there is no C++ compiler"
)

ADD = """
#include <ms_adapter/kernel.h>
using namespace ms_adapter;
void add(const Inputs& in, Outputs& out) {
  for (int64_t i = 0; i < in.tensor(0).numel; ++i)
    out[0].data<float>()[i] = in.tensor(0).data<float>()[i] + NUMBER;
}
MS_ADAPTER_KERNEL("add_number(Tensor x) -> Tensor", add);
"""

MANY = """
void describe(const Inputs& in, Outputs& out) {
  float* to = out[0].data<float>();
  to[0] = in[0].count;                                   // Tensor[]
  to[1] = in[0].tensors[1].sizes[0];
  to[2] = in.is_none(1) ? -1 : in.tensor(1).numel;       // Tensor?
  to[3] = in[2].integers[in[2].count - 1];               // int[]
  to[4] = in.flag(3);                                    // bool
  to[5] = in.text(4).size();                             // str
  to[6] = in.real(5);                                    // Scalar
  to[7] = in.integer(6);                                 // int
  out[1].data<int64_t>()[0] = static_cast<int64_t>(in.tensor(1).dtype);
}
void describe_shape(const Inputs&, Outputs& out) {
  out.set(0, {8}, DType::Float32);
  out.set(1, {1}, DType::Int64);
}
void columns(const Inputs& in, Outputs& out) {  // sees strides
  out[0].data<double>()[0] = in.tensor(0).strides[0];
}
void one(const Inputs&, Outputs& out) { out.set(0, {1}, DType::Float64); }
void fails(const Inputs&, Outputs&) { throw 3; }
MS_ADAPTER_KERNEL("describe(Tensor[] xs, Tensor? y, int[] dims, bool flag=True, str word='abc', *, "
                  "Scalar s=2.5, int n=7) -> (Tensor, Tensor)", describe).shape(describe_shape);
MS_ADAPTER_KERNEL("columns(Tensor x) -> Tensor", columns).shape(one).strided();
MS_ADAPTER_KERNEL("rows(Tensor x) -> Tensor", columns).shape(one);
MS_ADAPTER_KERNEL("fails(Tensor x) -> Tensor", fails);
"""


@pytest.fixture(autouse=True)
def private_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MS_ADAPTER_EXTENSIONS_DIR", str(tmp_path / "builds"))
    monkeypatch.chdir(tmp_path)


def test_the_example_of_the_documentation(tmp_path):
    blocks = dict(re.findall(r"```(cpp|python)\n(.*?)```", DOCS.read_text(), re.DOTALL))
    (tmp_path / "smooth.cpp").write_text(blocks["cpp"])
    exec(compile(blocks["python"], str(DOCS), "exec"), {})
    traced = torch.fx.symbolic_trace(lambda x: torch.ops.docs_smooth.smooth(x, 2.0))
    assert [n.op for n in traced.graph.nodes] == ["placeholder", "call_function", "output"]
    results = torch.library.opcheck(
        torch.ops.docs_smooth.smooth.default, (torch.ones(3, requires_grad=True),)
    )
    assert set(results.values()) == {"SUCCESS"}


def test_every_kind_of_argument():
    made = cpp_extension.load_inline("kinds", "using namespace ms_adapter;\n" + MANY)
    x = torch.ones(2, 3, dtype=torch.float64)
    numbers, dtype = made.describe([x, x[:1]], x, [4, 5], s=1.5)
    assert numbers.tolist() == [2, 1, 6, 5, 1, 3, 1.5, 7] and dtype.tolist() == [9]
    numbers, _ = made.describe([x, x], None, [9], False, "", s=2, n=1)
    assert numbers.tolist() == [2, 2, -1, 9, 0, 0, 2, 1]
    assert made.columns(x.t()).item() == 1 and made.rows(x.t()).item() == 2
    with pytest.raises(RuntimeError, match="argument 'dims'"):
        made.describe([x], None, "no")
    with pytest.raises(RuntimeError, match="fails: an exception"):
        made.fails(x)
    with pytest.raises(RuntimeError, match="no autograd formula"):
        made.columns(x.clone().requires_grad_()).backward()


def test_builds_are_kept_until_something_changes(tmp_path):
    calls = []
    run = _kernel_build._run

    def counting(command, name, verbose):
        calls.append(command)
        run(command, name, verbose)

    _kernel_build._run = counting
    try:
        (tmp_path / "number.h").write_text("#define NUMBER 1\n")
        source = tmp_path / "add.cpp"
        source.write_text('#include "number.h"\n' + ADD)
        load = lambda **options: (
            cpp_extension.load("added", source, **options).add_number(torch.zeros(2)).tolist()
        )
        assert load() == [1, 1] and len(calls) == 2
        assert load() == [1, 1] and len(calls) == 2
        (tmp_path / "number.h").write_text("#define NUMBER 2\n")
        load()
        assert len(calls) == 4
        source.write_text(ADD.replace("NUMBER", "3"))
        assert load() == [3, 3] and len(calls) == 6
        assert load(extra_cflags=["-O1"]) == [3, 3] and len(calls) == 8
    finally:
        _kernel_build._run = run
    folder = tmp_path / "builds" / "added"
    assert folder.stat().st_mode & 0o077 == 0 and all(f.stat().st_mode & 0o077 == 0 for f in folder.iterdir())


def test_what_the_compiler_says_is_in_the_error():
    with pytest.raises(RuntimeError, match="Error building extension 'broken'.*(?s:.*)not_declared"):
        cpp_extension.load_inline("broken", "int x = not_declared;")


def test_code_for_pytorch_is_refused(tmp_path):
    for first, match in (("torch/extension.h", "ATen"), ("pybind11/pybind11.h", "cpp_extension.md")):
        with pytest.raises(NotImplementedError, match=match):
            cpp_extension.load_inline("theirs", f"#include <{first}>\n")
    with pytest.raises(NotImplementedError, match="CUDA"):
        cpp_extension.load("theirs", [tmp_path / "kernel.cu"])
    with pytest.raises(RuntimeError, match="registers? no kernel"):
        cpp_extension.load_inline("empty", "int unused;", functions=["absent"])


def test_a_folder_that_others_can_write_to_is_refused(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(PermissionError, match="chmod"):
        cpp_extension.load_inline("anyone", "", build_directory=tmp_path / "open")


def test_setuptools(tmp_path):
    setuptools = pytest.importorskip("setuptools")
    (tmp_path / "add.cpp").write_text(ADD.replace("NUMBER", "5"))
    extension = cpp_extension.CppExtension("added_by_setup", ["add.cpp"])
    distribution = setuptools.Distribution({"name": "added", "ext_modules": [extension]})
    command = cpp_extension.BuildExtension.with_options(use_ninja=False)(distribution)
    command.build_lib, command.build_temp = str(tmp_path / "lib"), str(tmp_path / "temp")
    command.ensure_finalized()
    command.run()
    (library,) = (tmp_path / "lib").glob("added_by_setup*.so")
    torch.ops.load_library(library)
    assert torch.ops.added_by_setup.add_number(torch.zeros(1)).tolist() == [5]
    assert str(library) in torch.ops.loaded_libraries
