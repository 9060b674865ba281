"""Files: both formats, both directions, shared storages, and nothing that runs."""

import collections
import io
import os
import pickle

import pytest
import torch

import ms_adapter.pytorch as face


def saved(t, value, **options):
    buffer = io.BytesIO()
    t.save(value, buffer, **options)
    buffer.seek(0)
    return buffer


class Bomb:
    """Unpickling this makes a folder."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def everything(t):
    base = t.arange(12.0).reshape(3, 4)
    return {
        "base": base,
        "view": base[1:, ::2],
        "turned": base.t(),
        "list": [1, 2.5, "é", None, True, (1, 2j), {3, 4}, b"bytes"],
        "ordered": collections.OrderedDict(a=t.ones(1)),
        "parameter": t.nn.Parameter(t.ones(2)),
        "grad": t.ones(2, requires_grad=True),
        "size": t.Size([2, 3]),
        "dtype": t.float16,
        "device": t.device("cpu"),
        "layout": t.strided,
        "empty": t.zeros(0, 3),
        "scalar": t.tensor(3),
        "big": 1 << 70,
    }


def listed(value):
    if hasattr(value, "requires_grad"):
        kind = type(value).__name__
        return kind, str(value.dtype), list(value.shape), value.stride(), value.requires_grad, value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: listed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and type(value).__name__ != "Size":
        return [listed(item) for item in value]
    return repr(value)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(torch, face), (face, torch), (face, face)])
def test_round_trip(writer, reader, weights_only):
    back = reader.load(saved(writer, everything(writer)), weights_only=weights_only)
    assert listed(back) == listed(everything(torch))
    back["base"].zero_()
    assert back["view"].tolist() == [[0, 0], [0, 0]]
    assert back["turned"].tolist() == [[0] * 3] * 4


def test_old_format():
    back = face.load(saved(torch, everything(torch), _use_new_zipfile_serialization=False))
    assert listed(back) == listed(everything(torch))


def test_a_whole_module_travels_both_ways():
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Conv2d(1, 2, 3))
    ours = face.load(saved(torch, theirs), weights_only=False)
    assert type(ours) is face.nn.Sequential
    assert repr(ours) == repr(theirs)
    back = torch.load(saved(face, ours), weights_only=False)
    assert type(back) is torch.nn.Sequential
    assert all(a.equal(b) for a, b in zip(back.state_dict().values(), theirs.state_dict().values()))


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_recurrent_modules_travel(name):
    theirs = getattr(torch.nn, name)(2, 3, bidirectional=True).double()
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 2, 2).sin()
    ours = face.load(saved(torch, theirs), weights_only=False)
    again = torch.load(saved(face, ours), weights_only=False)
    want = theirs(x)[0].tolist()
    assert again(x)[0].tolist() == want
    assert (
        torch.from_numpy(ours(face.from_numpy(x.numpy()))[0].detach().numpy()) - theirs(x)[0]
    ).abs().max() < 1e-12


ACTIVATIONS = ["relu", "gelu", "silu", "logsigmoid", "softplus"]


def with_functions(t):
    """Modules that refer to functions, as pickled Transformer layers do."""
    functions = [getattr(t.nn.functional, name) for name in ACTIVATIONS]
    modules = [t.nn.TransformerEncoderLayer(4, 2, 8, activation=function) for function in functions]
    modules.append(t.nn.TransformerDecoderLayer(4, 2, 8, activation=t.tanh))
    return t.nn.ModuleList(modules)


@pytest.mark.parametrize(("writer", "reader"), [(torch, face), (face, torch), (face, face)])
def test_functions_travel(writer, reader):
    buffer = io.BytesIO()
    writer.save(with_functions(writer), buffer)
    buffer.seek(0)
    loaded = reader.load(buffer, weights_only=False)
    want = [getattr(reader.nn.functional, name) for name in ACTIVATIONS] + [reader.tanh]
    assert [layer.activation for layer in loaded] == want


@pytest.mark.parametrize("form", ["zip", "old", "plain"])
def test_nothing_runs(tmp_path, form):
    mark = str(tmp_path / "ran")
    if form == "plain":
        file = io.BytesIO(pickle.dumps(Bomb(mark)))
    else:
        file = saved(
            torch, {"x": torch.ones(1), "b": Bomb(mark)}, _use_new_zipfile_serialization=form == "zip"
        )
    with pytest.raises(pickle.UnpicklingError):
        face.load(file)
    assert not os.path.exists(mark)


@pytest.mark.parametrize(
    "attack",
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"\x80\x02ccollections\nOrderedDict\n}(X\x01\x00\x00\x00aK\x01ub.",  # sets a class's attributes
        b"\x80\x02c_codecs\nencode\n}X\x01\x00\x00\x00a}s\x86b.",  # sets a function's
        b"\x80\x02ctorch\nTensor.__init__\n.",
        b"\x80\x02I1\n)R.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.",
        b"garbage",
        b"\x80\x02(",
    ],
)
def test_attacks_are_refused(attack):
    with pytest.raises(pickle.UnpicklingError):
        face.load(io.BytesIO(attack))


class Thing:
    def __init__(self):
        self.value = 3


def test_safe_globals():
    file = saved(face, {"thing": Thing()})
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        face.load(file)
    file.seek(0)
    assert face.serialization.get_unsafe_globals_in_checkpoint(file) == [f"{Thing.__module__}.Thing"]
    file.seek(0)
    with face.serialization.safe_globals([Thing]):
        assert face.load(file)["thing"].value == 3
    assert face.serialization.get_safe_globals() == []


def test_safe_globals_of_the_face_go_by_the_names_in_files():
    file = saved(face, face.nn.Sequential(face.nn.Dropout(0.25)))
    with face.serialization.safe_globals([face.nn.Sequential, face.nn.Dropout]):
        assert face.load(file)[0].p == 0.25


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    face.save({"a": 1}, path)
    with pytest.raises(Exception, match=r"pickle|local object"):
        face.save({"a": lambda: None}, path)
    assert face.load(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["x.pt"]


def test_storages_viewed_as_two_dtypes_are_refused():
    base = face.zeros(4)
    other = face.empty(0, dtype=face.int32).set_(base.untyped_storage(), 0, (4,), (1,))
    with pytest.raises(RuntimeError, match="different types"):
        face.save([base, other], io.BytesIO())


def test_map_location(tmp_path):
    file = saved(torch, {"x": torch.ones(2)})
    for location in ("cpu", face.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        file.seek(0)
        assert face.load(file, map_location=location)["x"].tolist() == [1, 1]


def test_state_dict_keeps_its_metadata():
    state = face.nn.BatchNorm1d(2).state_dict()
    assert face.load(saved(face, state))._metadata == state._metadata
    assert torch.load(saved(face, state))._metadata == state._metadata


def test_plain_pickle():
    value = {
        "t": face.ones(2, 3).t(),
        "p": face.nn.Parameter(face.ones(1)),
        "d": face.float16,
        "s": face.Size([1]),
    }
    back = pickle.loads(pickle.dumps(value))
    assert listed(back) == listed(value)
    assert back["d"] is face.float16
    module = pickle.loads(pickle.dumps(face.nn.Linear(2, 1)))
    assert list(module.state_dict()) == ["weight", "bias"]


@pytest.mark.parametrize(("writer", "reader"), [(torch, face), (face, torch), (face, face)])
def test_computed_tensors_travel_as_leaves(writer, reader):
    value = writer.ones(2, requires_grad=True) * 3
    loaded = reader.load(saved(writer, value))
    assert loaded.tolist() == [3.0, 3.0] and loaded.requires_grad and loaded.is_leaf


def test_pruned_modules_travel():
    module = face.nn.utils.prune.l1_unstructured(face.nn.Linear(3, 2), "weight", 2)
    again = face.load(saved(face, module), weights_only=False)
    assert again.weight.tolist() == module.weight.tolist() and face.nn.utils.prune.is_pruned(again)
