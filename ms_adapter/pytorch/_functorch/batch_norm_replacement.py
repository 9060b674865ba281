"""Batch norms that keep no running statistics, which vmap cannot change in place."""

import ms_adapter.pytorch as torch


def replace_all_batch_norm_modules_(root):
    """Every batch norm of ``root`` without its running statistics, in place; returns ``root``.

    >>> import ms_adapter.pytorch as torch
    >>> torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(3)).running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
