"""torch.utils.tensorboard.summary: of its makers of summaries the one that other libraries call."""

from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.hparams import summary_v2 as _hparams

from . import _values

__all__ = ["hparams"]


def hparams(hparam_dict, metric_dict, hparam_domain_discrete=None):
    """What TensorBoard shows of hyperparameters, as three summaries: what there is, the start, the end."""
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            raise TypeError(f"hparams: {name} is a dictionary, not {type(given).__name__}.")
    domains = hparam_domain_discrete or {}
    parameters = [
        _hparams.HParam(name, _hparams.Discrete(domains[name]) if name in domains else None)
        for name in hparam_dict
    ]
    numbers = {
        name: value if isinstance(value, (bool, int, float, str)) else _values.one_number(value)
        for name, value in hparam_dict.items()
        if value is not None
    }
    return (
        _hparams.hparams_config_pb(parameters, [_hparams.Metric(name) for name in metric_dict]),
        _hparams.hparams_pb(numbers),
        _session_end(),
    )


def _session_end():
    found = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_SUCCESS)
    data = plugin_data_pb2.HParamsPluginData(session_end_info=found)
    about = metadata.create_summary_metadata(data)
    return Summary(value=[Summary.Value(tag=metadata.SESSION_END_INFO_TAG, metadata=about)])
