"""Modules of accelerators that are not here, streams and events: what libraries ask of them."""

import pytest
import torch
from reference_build import asks_no_driver

import ms_adapter.pytorch as face

QUESTIONS = {
    "xpu": ["is_available", "device_count", "is_bf16_supported", "memory_allocated", "max_memory_allocated"],
    "mtia": ["is_available", "device_count"],
    "mps": ["is_available", "device_count"],
    "cuda": ["is_available", "device_count", "memory_allocated", "max_memory_reserved", "get_rng_state_all"],
}


@pytest.mark.parametrize("kind", list(QUESTIONS))
def test_nothing_is_there(both, kind):
    def scenario(t):
        module = getattr(t, kind)
        return {name: getattr(module, name)() for name in QUESTIONS[kind]}

    both(scenario)


@pytest.mark.parametrize("kind", ["xpu"])
@pytest.mark.parametrize("name", ["current_device", "get_device_name", "synchronize", "Stream", "Event"])
def test_what_needs_a_device_raises(kind, name):
    with pytest.raises((AssertionError, RuntimeError)):
        getattr(getattr(torch, kind), name)()
    with pytest.raises(RuntimeError, match=rf"torch\.{kind}\.{name}: no {kind.upper()} device"):
        getattr(getattr(face, kind), name)()


def test_contexts_without_a_device(both):
    def scenario(t):
        t.cuda.set_rng_state_all([])
        with t.cuda.stream(None), t.cuda.device(-1):
            return t.cuda.default_generators

    both(scenario)
    with pytest.raises(RuntimeError), face.xpu.device(0):
        pass


def test_classes_have_no_instances(both):
    both(lambda t: [isinstance(3, cls) for cls in (t.cuda.CUDAGraph, t.cuda.Stream, t.cuda.Event, t.Stream)])


@asks_no_driver
def test_stream_of_the_cpu(both):
    def scenario(t):
        stream, event = t.Stream(), t.Event()
        return str(stream.device), stream.device_index, stream.stream_id, str(event.device)

    both(scenario)
    with face.Stream("cpu") as stream:
        assert stream.record_event().query()
    with pytest.raises(RuntimeError, match="meta"):
        face.Stream("meta")


@pytest.mark.parametrize("name", ["mps", "xpu:1", "xla", "hpu", "mtia", "privateuseone:2"])
def test_devices_of_other_machines_are_names(both, name):
    def scenario(t):
        device = t.device(name)
        again = t.device(device.type, device.index) if device.index is not None else t.device(device.type)
        return repr(device), str(device), device == again, device == t.device("cpu"), len({device, again})

    both(scenario)


@pytest.mark.parametrize(
    "use",
    [
        lambda: face.ones(2, device="mps"),
        lambda: face.ones(2, device=face.device("mps")),
        lambda: face.ones(2).to("xpu:0"),
        lambda: face.set_default_device("hpu"),
        lambda: face.device("mps").__enter__(),
        lambda: face.Generator("xpu"),
    ],
)
def test_nothing_can_be_put_there(use):
    with pytest.raises(RuntimeError, match="is not on this machine: take one of cpu"):
        use()
