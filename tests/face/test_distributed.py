"""torch.distributed with one process: collectives, groups and DistributedDataParallel are PyTorch's."""

import importlib
from importlib.machinery import PathFinder

import pytest
import torch

import ms_adapter.pytorch as face
from ms_adapter.pytorch import _placeholders

MODULES = [torch, face]


def outcome(call):
    """What a call returns or raises, in a form that both sides share."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def in_group(t, path, scenario):
    t.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=0, world_size=1)
    try:
        return scenario(t, t.distributed)
    finally:
        if t.distributed.is_initialized():
            t.distributed.destroy_process_group()


@pytest.fixture
def group_of_one(tmp_path):
    """Runs a scenario on both sides, in a group of one process, and compares what it returns."""

    def compare(scenario):
        want, got = (in_group(t, tmp_path / t.__name__, scenario) for t in MODULES)
        assert got == want

    return compare


COLLECTIVES = {
    "all_reduce": lambda d, x, out: d.all_reduce(x),
    "all_reduce_mean": lambda d, x, out: d.all_reduce(x, d.ReduceOp.AVG),
    "all_reduce_a_list": lambda d, x, out: d.all_reduce([x]),
    "async": lambda d, x, out: d.all_reduce(x, async_op=True).wait(),
    "reduce": lambda d, x, out: d.reduce(x, 0),
    "reduce_elsewhere": lambda d, x, out: d.reduce(x, 1),
    "broadcast": lambda d, x, out: d.broadcast(x, src=0),
    "broadcast_from_elsewhere": lambda d, x, out: d.broadcast(x, 1),
    "all_gather": lambda d, x, out: d.all_gather([out], x),
    "all_gather_of_another_size": lambda d, x, out: d.all_gather([out[:1]], x),
    "all_gather_of_another_type": lambda d, x, out: d.all_gather([out.double()], x),
    "all_gather_into_nothing": lambda d, x, out: d.all_gather([], x),
    "all_gather_into_tensor": lambda d, x, out: d.all_gather_into_tensor(out, x),
    "gather": lambda d, x, out: d.gather(x, [out]),
    "gather_without_a_list": lambda d, x, out: d.gather(x),
    "scatter": lambda d, x, out: d.scatter(out, [x]),
    "scatter_without_a_list": lambda d, x, out: d.scatter(out),
    "reduce_scatter": lambda d, x, out: d.reduce_scatter(out, [x]),
    "reduce_scatter_tensor": lambda d, x, out: d.reduce_scatter_tensor(out, x),
    "all_to_all": lambda d, x, out: d.all_to_all([out], [x]),
    "all_to_all_single": lambda d, x, out: d.all_to_all_single(out, x),
    "barrier": lambda d, x, out: d.barrier(),
    "send_to_oneself": lambda d, x, out: d.send(x, 0),
    "init_twice": lambda d, x, out: d.init_process_group("gloo", rank=0, world_size=1),
    "destroy_what_is_none": lambda d, x, out: d.destroy_process_group(d.GroupMember.NON_GROUP_MEMBER),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective(group_of_one, name):
    def scenario(t, d):
        x, out = t.arange(3.0), t.zeros(3)
        return outcome(lambda: COLLECTIVES[name](d, x, out)), x.tolist(), out.tolist()

    group_of_one(scenario)


def test_objects(group_of_one):
    def scenario(t, d):
        mine = {"a": [1]}
        gathered, collected, scattered, broadcast = [None], [None], [None], [mine]
        d.all_gather_object(gathered, mine)
        d.gather_object(mine, collected)
        d.scatter_object_list(scattered, [mine])
        d.broadcast_object_list(broadcast)
        mine["a"].append(2)  # what has travelled is a copy
        return gathered, collected, scattered

    group_of_one(scenario)


def test_groups(group_of_one):
    def scenario(t, d):
        inner = d.new_group([0])
        seen = [d.get_rank(), d.get_world_size(), d.get_backend(), d.get_process_group_ranks(inner)]
        seen += [d.get_rank(inner), d.get_world_size(inner), d.get_rank(d.GroupMember.NON_GROUP_MEMBER)]
        seen += [outcome(lambda: d.new_group([0, 1])), inner.size(), inner.rank(), d.group.WORLD is not None]
        d.destroy_process_group()
        return [*seen, d.is_initialized(), d.group.WORLD, outcome(d.get_rank), outcome(d.barrier)]

    group_of_one(scenario)


@pytest.mark.parametrize("variables", [{}, {"RANK": "0"}, {"RANK": "0", "WORLD_SIZE": "1"}])
def test_a_missing_variable_is_named(monkeypatch, variables):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    errors = []
    for t in MODULES:
        with pytest.raises(ValueError) as error:
            t.distributed.init_process_group("gloo")
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_the_variables_of_torchrun_are_read(monkeypatch):
    variables = {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    face.distributed.init_process_group()
    assert face.distributed.get_world_size() == 1 and face.distributed.get_node_local_rank() == 0
    face.distributed.destroy_process_group()


def test_several_processes_are_refused_with_the_way_out():
    with pytest.raises(NotImplementedError, match="group of 2 processes.*WORLD_SIZE=1"):
        face.distributed.init_process_group("gloo", init_method="tcp://localhost:1", rank=0, world_size=2)
    assert not face.distributed.is_initialized()


def test_distributed_data_parallel_trains_as_pytorch_does(nearly, tmp_path):
    def train(t, d):
        t.manual_seed(0)
        model = t.nn.parallel.DistributedDataParallel(
            t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Linear(4, 1)).double()
        )
        optimizer = t.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for step in range(4):
            with model.no_sync():
                model(t.ones(2, 3, dtype=t.float64)).sum().backward()
            loss = model(t.full((2, 3), step / 2, dtype=t.float64)).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        return losses, list(model.state_dict())

    nearly(lambda t: in_group(t, tmp_path / t.__name__, train))


def test_distributed_data_parallel_needs_a_group_and_parameters(both, tmp_path):
    def frozen(t, d):
        known = t.nn.parallel.DistributedDataParallel(t.nn.Linear(2, 2))._get_ddp_logging_data()
        keys = ("module_name", "num_parameter_tensors", "total_parameter_size_bytes", "rank", "world_size")
        logged = [known[key] for key in keys] + [known.get("can_set_static_graph")]
        return outcome(lambda: t.nn.parallel.DistributedDataParallel(t.nn.Identity())), logged

    both(lambda t: outcome(lambda: t.nn.parallel.DistributedDataParallel(t.nn.Linear(1, 1))))
    both(lambda t: in_group(t, tmp_path / t.__name__, frozen))


def test_futures(both):
    def scenario(t):
        first, second = t.futures.Future(), t.futures.Future()
        tripled = first.then(lambda done: 3 * done.value())
        together = t.futures.collect_all([first, second])
        seen = [first.done(), together.done(), outcome(first.value)]
        first.set_result(2)
        second.set_exception(KeyError("no"))
        seen += [tripled.wait(), together.done(), outcome(together.wait), outcome(second.wait)]
        return [
            *seen,
            outcome(lambda: first.set_result(3)),
            outcome(lambda: t.futures.wait_all([first, second])),
        ]

    both(scenario)


def test_a_placeholder_has_no_instances_and_says_why():
    from ms_adapter.pytorch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard

    assert not isinstance(face.nn.Linear(1, 1), FullyShardedDataParallel)
    assert ShardingStrategy.FULL_SHARD == ShardingStrategy.FULL_SHARD != ShardingStrategy.NO_SHARD
    for use in (FullyShardedDataParallel, fully_shard):
        with pytest.raises(NotImplementedError, match=f"fsdp.{use.__name__}: sharding a model"):
            use(face.nn.Linear(1, 1))
    met = _placeholders.met()
    assert met["torch.distributed.fsdp.fully_shard"] and not met["torch.distributed.fsdp.ShardingStrategy"]


def test_placeholders_are_names_of_pytorch():
    """A name that PyTorch does not have would hide a mistake of the script; private ones come and go."""
    unknown = []
    for module, (_, names) in _placeholders.modules().items():
        if not any(part.startswith("_") for part in module.split(".")) and module != "numa.binding":
            real = importlib.import_module(f"torch.{module}")
            unknown += [f"{module}.{name}" for name in names if not hasattr(real, name)]
    assert unknown == []


def test_no_placeholder_hides_what_exists():
    """Once a part exists, its placeholder must go: the finder comes last, so it would never be asked."""
    for module in _placeholders.modules():
        package = f"ms_adapter.pytorch.{module}".rpartition(".")[0]
        try:
            path = __import__(package, fromlist=["__path__"]).__path__
        except (ImportError, AttributeError):
            continue
        found = PathFinder.find_spec(f"ms_adapter.pytorch.{module}", path)
        assert found is None or not _placeholders.modules()[module][1], module
