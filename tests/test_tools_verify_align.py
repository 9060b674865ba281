"""`verify`: which event of one run belongs to which of the other."""

from ms_adapter.tools.verification.align import align


def op(name, shape, *names):
    """An operator's event."""
    return {"kind": "op", "path": "", "name": name, "shape": shape, "names": list(names)}


def test_parameters_may_be_looked_at_in_any_order():
    reference = [op("detach", (2, 2), "Net.weight"), op("detach", (2, 2), None), op("lerp_", (2, 2), None)]
    ours = [op("detach", (2, 2), None), op("detach", (2, 2), "Net.weight"), op("lerp_", (2, 2), None)]
    assert (0, 0) not in align(reference, ours)
    assert align(reference, ours)[-1] == (2, 2)


def test_values_without_shape_do_not_pair_those_of_other_shapes():
    hidden = [op("linear", None), op("tanh", None), op("sub", None), op("pow", None), op("mean", None)]
    seen = [op("linear", (7, 5)), op("tanh", (7, 5)), op("sub", (7, 1)), op("pow", (7, 1)), op("mean", ())]
    reference = [op("kaiming_uniform_", (5, 3)), op("uniform_", (5,)), *hidden]
    ours = [op("uniform_", (5, 3)), op("uniform_", (5,)), *seen]
    pairs = align(reference, ours)
    assert (1, 0) not in pairs
    assert pairs[-5:] == [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6)]


def test_other_shapes_all_over_are_paired():
    reference = [op("linear", (4, 3)), op("relu", (4, 3)), op("sum", (4,))]
    ours = [op("linear", (8, 3)), op("relu", (8, 3)), op("sum", (8,))]
    assert align(reference, ours) == [(0, 0), (1, 1), (2, 2)]
