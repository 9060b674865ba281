"""How this process was started: what torchrun, srun or a script of one's own put into the environment."""

import os
from urllib.parse import parse_qs, urlsplit

_SEVERAL = (
    "init_process_group: a group of {size} processes is asked for ({source}), and ms_adapter has no "
    "communication between processes yet. Start one process (`ms-adapter run train.py`, or torchrun "
    "--nproc-per-node=1), or set WORLD_SIZE=1 and RANK=0"
)


def is_torchelastic_launched():
    """Whether torchrun (or what sets its variables) started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank=None):
    """The rank of this process on its machine: ``LOCAL_RANK``, or else ``fallback_rank``.

    Raises RuntimeError when neither is given.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment: start the script with torchrun, or pass fallback_rank"
    )


def _variable(name):
    if name not in os.environ:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: "
            f"environment variable {name} expected, but not set"
        )
    return os.environ[name]


def place_in_world(init_method, store, rank, world_size):
    """Rank and size from what the caller and the environment say, refused unless they are 0 of 1."""
    source = "world_size" if world_size >= 0 else "the environment's WORLD_SIZE"
    if store is not None:
        if rank < 0 or world_size < 1:
            raise ValueError("init_process_group: with a store, rank and world_size must be given")
    elif init_method is None or init_method.startswith("env://"):
        rank = int(_variable("RANK")) if rank < 0 else rank
        world_size = int(_variable("WORLD_SIZE")) if world_size < 0 else world_size
        _variable("MASTER_ADDR")
        _variable("MASTER_PORT")
    else:
        query = parse_qs(urlsplit(init_method).query)
        rank = int(query.get("rank", [-1])[0]) if rank < 0 else rank
        world_size = int(query.get("world_size", [-1])[0]) if world_size < 0 else world_size
        if rank < 0 or world_size < 0:
            raise ValueError(f"init_process_group: {init_method!r} needs rank and world_size")
        source = "init_method" if "world_size" in query else source
    if world_size > 1:
        raise NotImplementedError(_SEVERAL.format(size=world_size, source=source))
    if rank != 0:
        raise ValueError(f"init_process_group: rank is {rank}, and a group of one process has rank 0 only")
    return rank, world_size
