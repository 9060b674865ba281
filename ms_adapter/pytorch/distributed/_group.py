"""What torch.distributed's functions speak of: groups, backends, reductions, work handed out, errors."""

import enum

from ..futures import Future


class DistError(RuntimeError):
    """An error of torch.distributed."""


class DistBackendError(DistError):
    """An error of the communication library."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of the store in which processes find each other."""


class QueueEmptyError(DistStoreError):
    """A queue of the store is empty."""


class Backend(str):
    """The name of a communication library, in lower case."""

    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL, FAKE = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl", "fake"
    HCCL = "hccl"
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "npu": HCCL, "xpu": XCCL, "mps": GLOO}
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE, HCCL]

    def __new__(cls, name):
        """Raises ValueError for what is not text, or names no library: `cpu:gloo,cuda:nccl` names two."""
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        named = [part.rpartition(":")[2].lower() for part in name.split(",")]
        unknown = [part for part in named if part not in cls.backend_list]
        if unknown:
            raise ValueError(f"Invalid backend: '{unknown[0]}'; known are {', '.join(cls.backend_list[1:])}")
        return super().__new__(cls, named[0] if len(named) == 1 else name.lower())


class ReduceOp(enum.IntEnum):
    """How the tensors of several processes become one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


ReduceOp.RedOpType = ReduceOp  # the name of its values' type in PyTorch
reduce_op = ReduceOp  # the older name


class Work:
    """A collective under way, which with one process is done when it is handed out."""

    def __init__(self, result=None):
        self._result = result

    def wait(self, timeout=None):
        """True: it is done."""
        return True

    def is_completed(self):
        """True: it is done."""
        return True

    def is_success(self):
        """True: what fails raises at once."""
        return True

    def result(self):
        """The tensors that the collective filled."""
        return self._result if isinstance(self._result, (list, tuple)) else [self._result]

    def get_future(self):
        """A future that holds the result."""
        future = Future()
        future.set_result(self.result())
        return future


class ProcessGroup:
    """A group whose only member is this process."""

    alive = []

    def __init__(self, backend, description, store):
        self._backend, self.group_desc, self.store = backend, description, store
        self.group_name = str(len(ProcessGroup.alive))
        ProcessGroup.alive.append(self)

    def name(self):
        """The backend's name."""
        return self._backend

    def rank(self):
        """0: this process."""
        return 0

    def size(self):
        """1: this process."""
        return 1


class _World(type):
    """`group.WORLD` and `GroupMember.WORLD` are one setting."""

    @property
    def WORLD(cls):
        return _World.current

    @WORLD.setter
    def WORLD(cls, value):
        _World.current = value


_World.current = None


class group(metaclass=_World):
    """Holds the default group, as ``group.WORLD``."""


class GroupMember(metaclass=_World):
    """The default group, and what stands for a group that this process is not in."""

    NON_GROUP_MEMBER = -100
