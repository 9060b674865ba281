"""DistributedDataParallel over a group of one process: the module's own gradients are the group's."""

import contextlib

from ms_adapter.pytorch import distributed as dist

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Holds a module as ``module``; with one process there is nothing to average.

    Every option of PyTorch's is accepted. Raises ValueError before ``init_process_group``, RuntimeError for a
    module without parameters to train.

    >>> import ms_adapter.pytorch as torch
    >>> torch.distributed.init_process_group(init_method="tcp://127.0.0.1:29500", rank=0, world_size=1)
    >>> list(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1)).state_dict())
    ['module.weight', 'module.bias']
    >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=None, init_sync=True,
        process_group=None, bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False,
        gradient_as_bucket_view=False, static_graph=False, delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None,
        skip_all_reduce_unused_params=False, bucket_cap_mb_list=None, batched_grad_copy=False,
        forward_sync_buffers=None,
    ):  # fmt: skip
        super().__init__()
        self.process_group = (
            dist.distributed_c10d._get_default_group() if process_group is None else process_group
        )
        if mixed_precision is not None:
            raise NotImplementedError(
                "DistributedDataParallel: mixed_precision is not supported: use torch.autocast "
                "in the forward pass"
            )
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that "
                "require a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        self.module = module
        first = next(module.parameters())
        self.device, self.device_type, self.is_multi_device_module = first.device, first.device.type, False
        self.device_ids = list(device_ids) if device_ids else None
        self.output_device = output_device
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers is None or broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self):
        """Gradients are summed up here without being averaged over the processes, as they are anyway."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """For uneven inputs of several processes: with one there is nobody to wait for."""
        yield

    def scatter(self, inputs, kwargs, device_ids):
        """The inputs as a list for each device: for one."""
        return [inputs], [kwargs]

    def gather(self, outputs, output_device):
        """The outputs of the devices as one."""
        return outputs

    def register_comm_hook(self, state, hook):
        """Raises NotImplementedError: no gradient is communicated that a hook could change."""
        raise NotImplementedError(
            "DistributedDataParallel.register_comm_hook: gradients of one process are not communicated, so "
            "the hook would never run; leave it out when torch.distributed.get_world_size() is 1"
        )

    def _get_ddp_logging_data(self):
        # What is known where nothing is communicated; Lightning asks for more and takes that it is not there.
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        return {
            "module_name": type(self.module).__name__,
            "num_parameter_tensors": len(parameters),
            "total_parameter_size_bytes": sum(p.numel() * p.element_size() for p in parameters),
            "rank": 0,
            "world_size": 1,
        }

    def _set_static_graph(self):
        self.static_graph = True

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore
