"""Process groups of one process, and the collectives over them: copies from one's input to one's output."""

import pickle
from datetime import timedelta

import ms_adapter.pytorch as torch

from ._group import (
    Backend,
    GroupMember,
    ProcessGroup,
    ReduceOp,
    Work,
    group,
    reduce_op,
)
from ._launch import place_in_world
from ._store import FileStore, HashStore, PrefixStore, Store, TCPStore

__all__ = [
    "Backend", "FileStore", "GroupMember", "HashStore", "P2POp", "PrefixStore", "ProcessGroup", "ReduceOp",
    "Store", "TCPStore", "Work", "all_gather",
    "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_gather_single",
    "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier",
    "batch_isend_irecv", "broadcast", "broadcast_object_list", "destroy_process_group", "gather",
    "gather_object", "get_backend", "get_backend_config", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_pg_count", "get_process_group_ranks", "get_rank",
    "get_world_size", "group", "init_process_group", "irecv", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_ucc_available", "is_xccl_available",
    "isend", "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "recv",
    "recv_object_list", "reduce", "reduce_op", "reduce_scatter", "reduce_scatter_single",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list",
    "supports_complex",
]  # fmt: skip

_NOT_STARTED = "Default process group has not been initialized, please make sure to call init_process_group."
_TO_ITSELF = "the rank of the current process."


# ---- the groups -----------------------------------------------------------------------------------


def is_initialized():
    """Whether init_process_group was called, and the group not destroyed since."""
    return GroupMember.WORLD is not None


def init_process_group(
    backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
    pg_options=None, device_id=None, _ranks=None,
):  # fmt: skip
    """Make the default group, which has this process only.

    Rank and size come from the arguments, or from the variables that torchrun sets. Any ``backend`` that
    PyTorch knows is accepted, as nothing is sent. Raises NotImplementedError for more than one process,
    ValueError when rank or size is missing or a group is there already.

    >>> import ms_adapter.pytorch.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1, init_method="tcp://127.0.0.1:29500")
    >>> dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (0, 1, 'gloo')
    >>> dist.destroy_process_group()
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    place_in_world(init_method, store, rank, world_size)
    group.WORLD = ProcessGroup(Backend(backend or "gloo"), group_name or "default_pg", store)


def destroy_process_group(group=None):
    """Forget a group; without one the default group and all that were made from it."""
    chosen = GroupMember.WORLD if group is None else group
    if chosen is None:
        raise AssertionError("Process group cannot be None")
    if chosen is GroupMember.NON_GROUP_MEMBER:
        return
    if chosen is GroupMember.WORLD:
        GroupMember.WORLD = None
        ProcessGroup.alive.clear()
    elif chosen not in ProcessGroup.alive:
        raise ValueError("Invalid process group specified or has been destroyed.")
    else:
        ProcessGroup.alive.remove(chosen)


def _get_default_group():
    if GroupMember.WORLD is None:
        raise ValueError(_NOT_STARTED)
    return GroupMember.WORLD


def _member(group):
    """The group itself, or None when this process has no part in it and the collective does nothing."""
    default = _get_default_group()
    if group is None:
        return default
    return None if group is GroupMember.NON_GROUP_MEMBER else group


def _rank_not_in_group(group):
    """Whether this process has no part in a group; None is the default group, which it is in."""
    return group is GroupMember.NON_GROUP_MEMBER


def new_group(
    ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None,
    device_id=None, sort_ranks=True,
):  # fmt: skip
    """A further group: of this process, or of none (``ranks=[]``), which leaves it no member."""
    default = _get_default_group()
    ranks = [0] if ranks is None else list(ranks)
    if len(ranks) > 1:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    if any(rank != 0 for rank in ranks):
        raise ValueError("The new group's rank should be within the world_size set by init_process_group")
    if not ranks:
        return GroupMember.NON_GROUP_MEMBER
    return ProcessGroup(Backend(backend or default.name()), group_desc or "undefined", None)


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """The groups of each machine: one, of this process."""
    if group_size not in (None, 1):
        raise ValueError(f"new_subgroups: group_size is {group_size}, and the world has 1 process")
    only = new_group([0], timeout, backend)
    return only, [only]


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None
):
    """One group for each list of ranks."""
    groups = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    mine = [made for made in groups if isinstance(made, ProcessGroup)]
    return (mine[0] if mine else None), groups


def get_rank(group=None):
    """0 in every group that this process is in, -1 in others."""
    return -1 if _member(group) is None else 0


def get_world_size(group=None):
    """1 for every group that this process is in, -1 for others."""
    return -1 if _member(group) is None else 1


def get_backend(group=None):
    """The backend that the group was made with."""
    member = _member(group)
    if member is None:
        raise ValueError("Invalid process group specified")
    return member.name()


def get_backend_config(group=None):
    """The backend of each device, as text."""
    return f"cpu:{get_backend(group)}"


def get_process_group_ranks(group):
    """The ranks of a group's members."""
    return [] if _member(group) is None else [0]


def get_group_rank(group, global_rank):
    """A global rank's place in a group."""
    return _only_rank("get_group_rank", _member(group), global_rank)


def get_global_rank(group, group_rank):
    """The global rank of a group's member."""
    return _only_rank("get_global_rank", _member(group), group_rank)


def get_pg_count():
    """How many groups there are."""
    return len(ProcessGroup.alive)


def _only_rank(name, member, rank):
    if member is None or rank != 0:
        raise ValueError(f"{name}: the group has no rank {rank}")
    return 0


def get_default_backend_for_device(device):
    """The backend that serves a device: gloo, by the name that PyTorch gives it for cpu."""
    return "gloo"


def supports_complex(op):
    """Whether a reduction takes complex numbers."""
    return op in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT)


def is_backend_available(backend):
    """Whether groups can name this backend and mean it: gloo only, for a group of one."""
    return backend.lower() == "gloo"


def is_gloo_available():
    """True: a group of one answers as gloo does."""
    return True


def _unavailable():
    """False: this communication library is not used."""
    return False


is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = _unavailable


# ---- collectives on tensors -----------------------------------------------------------------------


def _check_tensor(name, tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor "
            f"but got {type(tensor)} instead."
        )


def _check_list(name, tensors):
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, torch.Tensor) for t in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] "
            f"but got {type(tensors)} instead."
        )


def _check_root(operation, root, group_root=None):
    root = 0 if root is None and group_root is None else group_root if root is None else root
    if root != 0:
        raise RuntimeError(f"{operation}: invalid root rank: {root}; the group has one process, of rank 0")


def _copy(operation, output, input):
    if tuple(output.shape) != tuple(input.shape):
        raise RuntimeError(
            f"{operation}: invalid tensor size (expected {tuple(input.shape)}, got {tuple(output.shape)})"
        )
    if output.dtype != input.dtype:
        raise ValueError(f"{operation}: input and output differ in dtype: {input.dtype} and {output.dtype}")
    with torch.no_grad():
        output.copy_(input)


def _copy_flat(operation, output, input):
    """As `_copy`, where the dimension over the ranks may be there or not."""
    if output.numel() != input.numel():
        raise RuntimeError(
            f"{operation}: the output has {output.numel()} elements, and one process gives {input.numel()}"
        )
    _copy(operation, output, input.reshape(output.shape))


def _single(operation, tensors):
    if len(tensors) != 1:
        raise RuntimeError(f"{operation}: a list of {len(tensors)} tensors for a group of 1 process")
    return tensors[0]


def _done(async_op, result=None):
    return Work(result) if async_op else None


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """The reduction over all processes, in place: of one, the tensor as it is."""
    _check_tensor("tensor", tensor)
    return None if _member(group) is None else _done(async_op, tensor)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """As all_reduce, of several tensors."""
    _check_list("tensors", tensors)
    return None if _member(group) is None else _done(async_op, tensors)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """The reduction over all processes, on process ``dst``."""
    _check_tensor("tensor", tensor)
    if _member(group) is None:
        return None
    _check_root("reduce", dst, group_dst)
    return _done(async_op, tensor)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Give every process what ``src`` has."""
    _check_tensor("tensor", tensor)
    if _member(group) is None:
        return None
    _check_root("broadcast", src, group_src)
    return _done(async_op, tensor)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Collect every process's tensor in the list."""
    _check_list("tensor_list", tensor_list)
    _check_tensor("tensor", tensor)
    if _member(group) is None:
        return None
    _copy("all_gather", _single("all_gather", tensor_list), tensor)
    return _done(async_op, tensor_list)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """As all_gather, of several tensors."""
    for outputs, tensor in zip(output_tensor_lists, input_tensor_list):
        all_gather(outputs, tensor, group)
    return _done(async_op, output_tensor_lists)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Collect every process's tensor in one, along its first dimension or a new one."""
    _check_tensor("output_tensor", output_tensor)
    _check_tensor("input_tensor", input_tensor)
    if _member(group) is None:
        return None
    _copy_flat("all_gather_into_tensor", output_tensor, input_tensor)
    return _done(async_op, output_tensor)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Collect every process's tensor on process ``dst``."""
    _check_tensor("tensor", tensor)
    if _member(group) is None:
        return None
    _check_root("gather", dst, group_dst)
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _copy("gather", _single("gather", gather_list), tensor)
    return _done(async_op, gather_list)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Give each process its tensor of the list that ``src`` has."""
    _check_tensor("tensor", tensor)
    if _member(group) is None:
        return None
    _check_root("scatter", src, group_src)
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _copy("scatter", tensor, _single("scatter", scatter_list))
    return _done(async_op, tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce a list over the processes, and give each its part."""
    _check_tensor("output", output)
    _check_list("input_list", input_list)
    if _member(group) is None:
        return None
    _copy("reduce_scatter", output, _single("reduce_scatter", input_list))
    return _done(async_op, output)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce a tensor over the processes, and give each its part."""
    _check_tensor("output", output)
    _check_tensor("input", input)
    if _member(group) is None:
        return None
    _copy_flat("reduce_scatter_tensor", output, input)
    return _done(async_op, output)


all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Send each process its tensor of the list."""
    _check_list("output_tensor_list", output_tensor_list)
    _check_list("input_tensor_list", input_tensor_list)
    if _member(group) is None:
        return None
    outputs, inputs = (_single("all_to_all", tensors) for tensors in (output_tensor_list, input_tensor_list))
    _copy("all_to_all", outputs, inputs)
    return _done(async_op, output_tensor_list)


def all_to_all_single(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
):
    """Send each process its part of the tensor."""
    _check_tensor("output", output)
    _check_tensor("input", input)
    if _member(group) is None:
        return None
    for sizes, tensor in ((output_split_sizes, output), (input_split_sizes, input)):
        if sizes and list(sizes) != [tensor.shape[0]]:
            raise RuntimeError(
                f"all_to_all_single: split sizes {list(sizes)} for {tensor.shape[0]} rows of 1 process"
            )
    _copy("all_to_all_single", output, input)
    return _done(async_op, output)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Wait for all processes: for none."""
    return None if _member(group) is None else _done(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Wait for all processes: for none."""
    _member(group)


# ---- from one process to another, which there is none of --------------------------------------------


def _refuse_peer(name, end, rank):
    """There is no rank but one's own, which PyTorch refuses, too."""
    _get_default_group()
    if rank in (0, None):
        raise ValueError(f"Invalid {end} rank: {end} rank should not be the same as {_TO_ITSELF}")
    raise ValueError(f"{name}: the group has one process, and no rank {rank}")


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Raises: there is no other process to send to."""
    _check_tensor("tensor", tensor)
    _refuse_peer("send", "destination", group_dst if dst is None else dst)


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Raises: there is no other process to receive from."""
    _check_tensor("tensor", tensor)
    _refuse_peer("recv", "source", group_src if src is None else src)


isend, irecv = send, recv


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Raises: there is no other process to send to."""
    _refuse_peer("send_object_list", "destination", group_dst if dst is None else dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Raises: there is no other process to receive from."""
    _refuse_peer("recv_object_list", "source", group_src if src is None else src)


class P2POp:
    """One of several sends or receives for batch_isend_irecv."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("P2POp: op must be torch.distributed.isend or torch.distributed.irecv")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list):
    """Raises, as each of the sends and receives does."""
    return [task.op(task.tensor, task.peer, task.group, task.tag, task.group_peer) for task in p2p_op_list]


# ---- collectives on objects -----------------------------------------------------------------------


def _travelled(obj):
    """The object as it comes out of a message: a copy that shares nothing with it."""
    return pickle.loads(pickle.dumps(obj))


def all_gather_object(object_list, obj, group=None):
    """Collect every process's object in the list."""
    if _member(group) is not None:
        object_list[0] = _travelled(obj)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Collect every process's object on process ``dst``."""
    if _member(group) is None:
        return
    _check_root("gather_object", dst, group_dst)
    if not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    object_gather_list[0] = _travelled(obj)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Give every process the objects that ``src`` has."""
    if _member(group) is None:
        return
    _check_root("broadcast_object_list", src, group_src)
    object_list[:] = [_travelled(obj) for obj in object_list]


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    """Give each process its object of the list that ``src`` has."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if _member(group) is None:
        return
    _check_root("scatter_object_list", src, group_src)
    if not scatter_object_input_list:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    scatter_object_output_list[0] = _travelled(scatter_object_input_list[0])
