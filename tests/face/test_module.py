"""nn.Module's contract: the same scenario on both sides must leave the same trace."""

import copy
import gc
import weakref
from collections import OrderedDict

import pytest

import ms_adapter.pytorch as ours


def net(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = t.nn.Linear(2, 3)
            self.register_buffer("count", t.zeros(1))
            self.register_buffer("scratch", t.zeros(2), persistent=False)
            self.second = t.nn.Sequential(t.nn.ReLU(), t.nn.Linear(3, 1, bias=False))
            self.shared = self.first

        def forward(self, x):
            return self.second(self.first(x))

    return Net()


def names(module):
    return [
        [n for n, _ in module.named_parameters()],
        [n for n, _ in module.named_parameters(prefix="p", remove_duplicate=False)],
        [n for n, _ in module.named_parameters(recurse=False)],
        [n for n, _ in module.named_buffers()],
        [n for n, _ in module.named_modules()],
        [n for n, _ in module.named_modules(remove_duplicate=False, prefix="m")],
        [n for n, _ in module.named_children()],
        list(module.state_dict()),
        dict(module.state_dict()._metadata),
    ]


def test_names_and_order(both):
    both(lambda t: names(net(t)))


def test_repr(both):
    both(lambda t: repr(net(t)))
    both(lambda t: repr(t.nn.ModuleList([net(t), net(t), t.nn.Tanh()])))
    both(lambda t: repr(t.nn.ModuleDict({"a": t.nn.Linear(1, 1), "b": net(t)})))
    both(lambda t: repr(t.nn.ParameterList([t.ones(2, 3), t.nn.Parameter(t.ones(1)), 5])))
    both(lambda t: repr(t.nn.ParameterDict({"b": t.ones(2, 3), "a": t.nn.Parameter(t.ones(1))})))


def attempt(action):
    """The type and text of what an action raises, or its result."""
    try:
        return action()
    except Exception as err:
        return type(err).__name__, str(err)


def test_setattr_rules(both):
    def scenario(t):
        module, trace = net(t), []
        module.extra = t.nn.Parameter(t.ones(1))
        trace.append(names(module)[0])
        module.extra = None
        trace.append((names(module)[0], module.extra))
        trace.append(attempt(lambda: setattr(module, "extra", 3)))
        trace.append(attempt(lambda: setattr(module, "first", 3)))
        module.first = None
        trace.append((list(module._modules), repr(module)))
        module.count = t.ones(1)
        trace.append(attempt(lambda: setattr(module, "count", "x")))
        module.scratch = t.nn.Parameter(t.ones(1))
        trace.append((list(module._buffers), list(module._parameters), module._non_persistent_buffers_set))
        del module.second
        trace.append(attempt(lambda: module.second))
        module.plain = 3
        trace.append("plain" in module.__dict__)
        trace.append(attempt(lambda: setattr(module, "plain", t.nn.Buffer(t.ones(2)))))
        module.later = t.nn.Buffer(t.ones(2), persistent=False)
        trace.append((list(module._buffers), sorted(module._non_persistent_buffers_set)))
        return trace

    both(scenario)


def test_registration_errors(both):
    def scenario(t):
        module = net(t)
        calls = [
            lambda: module.register_buffer("a.b", t.ones(1)),
            lambda: module.register_buffer("", t.ones(1)),
            lambda: module.register_buffer("first", t.ones(1)),
            lambda: module.register_buffer(3, t.ones(1)),
            lambda: module.register_buffer("x", 3),
            lambda: module.register_parameter("a.b", None),
            lambda: module.register_parameter("x", t.ones(1)),
            lambda: module.register_parameter("x", t.nn.Parameter(t.ones(1)) * 2),
            lambda: module.add_module("a.b", None),
            lambda: module.add_module("x", 3),
            lambda: module.get_submodule("second.7"),
            lambda: module.get_submodule("count"),
            lambda: module.get_parameter("count"),
            lambda: module.get_buffer("first.weight"),
            lambda: t.nn.Module(3),
            lambda: t.nn.Module(a=3),
            lambda: t.nn.Module()(),
            lambda: module.train("yes"),
        ]
        return [attempt(call)[0] for call in calls]

    both(scenario)


def test_use_before_init(both):
    def scenario(t):
        class Early(t.nn.Module):
            def __init__(self, value):
                self.value = value

        values = [t.nn.Parameter(t.ones(1)), t.nn.Linear(1, 1), t.nn.Buffer(t.ones(1))]
        return [attempt(lambda v=value: Early(v))[0] for value in values]

    both(scenario)


def test_forward_hooks(both):
    def scenario(t):
        module, trace = t.nn.Linear(2, 2), []
        with t.no_grad():
            module.weight.copy_(t.eye(2))
            module.bias.zero_()
        module.register_forward_pre_hook(lambda m, a: trace.append("pre 1"))
        module.register_forward_pre_hook(lambda m, a: (a[0] + 1,), prepend=True)
        module.register_forward_pre_hook(lambda m, a, k: (a, k), with_kwargs=True)
        module.register_forward_hook(lambda m, a, o: trace.append(("post", a[0].tolist(), o.tolist())))
        handle = module.register_forward_hook(lambda m, a, o: o * 2)
        module.register_forward_hook(lambda m, a, k, o: trace.append(("kw", k)), with_kwargs=True)
        trace.append(module(t.ones(2)).tolist())
        handle.remove()
        trace.append(module(t.zeros(2)).tolist())
        return trace

    both(scenario)


def test_always_called_hook(both):
    def scenario(t):
        class Bad(t.nn.Module):
            def forward(self, x):
                raise ValueError("no")

        module, trace = Bad(), []
        module.register_forward_hook(lambda m, a, o: trace.append(("always", o)), always_call=True)
        module.register_forward_hook(lambda m, a, o: trace.append("not"))
        trace.append(attempt(lambda: module(1)))
        return trace

    both(scenario)


def test_global_hooks(both):
    def scenario(t):
        m, trace = t.nn.modules.module, []
        handles = [
            m.register_module_forward_pre_hook(lambda mod, a: trace.append(("pre", mod._get_name()))),
            m.register_module_forward_hook(lambda mod, a, o: trace.append(("post", mod._get_name()))),
            m.register_module_parameter_registration_hook(lambda mod, n, p: trace.append(("param", n))),
            m.register_module_module_registration_hook(lambda mod, n, s: trace.append(("module", n))),
            m.register_module_buffer_registration_hook(lambda mod, n, b: trace.append(("buffer", n))),
        ]
        net(t)(t.ones(1, 2))
        for handle in handles:
            handle.remove()
        net(t)(t.ones(1, 2))
        return trace

    both(scenario)


def test_full_backward_hooks(both):
    def scenario(t):
        module, trace = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU()), []
        with t.no_grad():
            module[0].weight.copy_(t.tensor([[1.0, 2.0], [3.0, 4.0]]))
            module[0].bias.zero_()
        module.register_full_backward_pre_hook(lambda m, go: trace.append(("pre", go[0].tolist())))
        module.register_full_backward_hook(
            lambda m, gi, go: trace.append(("post", gi[0].tolist(), go[0].tolist()))
        )
        module[0].register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
        x = t.ones(2, requires_grad=True)
        module(x).sum().backward()
        trace.append(x.grad.tolist())
        y = t.ones(2)  # no input needs a gradient: the hook sees None
        first = t.nn.Linear(2, 1, bias=False)
        first.register_full_backward_hook(lambda m, gi, go: trace.append((gi, go[0].tolist())))
        first(y).sum().backward()
        return trace

    both(scenario)


def test_mixing_backward_hooks_raises(both):
    def scenario(t):
        module = t.nn.Linear(1, 1)
        module.register_full_backward_hook(lambda m, gi, go: None)
        return attempt(lambda: module.register_backward_hook(lambda m, gi, go: None))[0]

    both(scenario)


def test_load_state_dict_errors(both):
    def scenario(t):
        source, target = net(t).state_dict(), net(t)
        source["odd"] = t.ones(1)
        del source["count"]
        source["first.weight"] = t.ones(5, 5)
        source["first.bias"] = "text"
        text = attempt(lambda: target.load_state_dict(source))[1]
        loose = attempt(lambda: target.load_state_dict({"count": t.ones(1)}, strict=False))
        return (
            text.replace("ms_adapter.pytorch", "torch"),
            loose,
            repr(target.load_state_dict(net(t).state_dict())),
        )

    both(scenario)


def test_load_state_dict_values_assign_and_hooks(both):
    def scenario(t):
        trace, target = [], net(t)
        source = net(t).state_dict()
        target.register_load_state_dict_pre_hook(lambda m, sd, *rest: trace.append(("pre", len(sd))))
        target.register_load_state_dict_post_hook(lambda m, keys: trace.append(("post", keys.missing_keys)))
        target.register_state_dict_pre_hook(lambda m, prefix, keep: trace.append(("save", prefix, keep)))
        target.register_state_dict_post_hook(lambda m, sd, prefix, meta: trace.append(meta))
        target.load_state_dict(source)
        same = all(a.tolist() == b.tolist() for a, b in zip(target.state_dict().values(), source.values()))
        before = target.first.weight
        target.load_state_dict(source, assign=True)
        shares = target.first.weight.data_ptr() == source["first.weight"].data_ptr()
        kept = target.first.weight is before
        return (
            trace,
            same,
            shares,
            kept,
            type(target.first.weight).__name__,
            target.first.weight.requires_grad,
        )

    both(scenario)


def test_extra_state(both):
    def scenario(t):
        class Counter(t.nn.Module):
            value = 0

            def get_extra_state(self):
                return {"value": self.value}

            def set_extra_state(self, state):
                self.value = state["value"]

        source, target = Counter(), t.nn.Sequential(Counter())
        source.value = 7
        saved = t.nn.Sequential(source).state_dict()
        target.load_state_dict(saved)
        return dict(saved), target[0].value, attempt(lambda: target.load_state_dict({}))[1]

    both(scenario)


def test_conversion(both):
    def scenario(t):
        module, trace = net(t), []
        first = module.first.weight
        module(t.ones(1, 2)).sum().backward()
        for change in (
            lambda m: m.double(),
            lambda m: m.to(t.float16),
            lambda m: m.to("cpu", t.float64),
            lambda m: m.to(t.ones(1)),
            lambda m: m.bfloat16(),
            lambda m: m.float(),
        ):
            change(module)
            trace.append([str(p.dtype) for p in module.parameters()])
            trace.append([str(b.dtype) for b in module.buffers()])
            trace.append((module.first.weight is first, str(module.first.weight.grad.dtype)))
        trace.append(attempt(lambda: module.to(t.int64))[0])
        module.requires_grad_(False).eval()
        trace.append([p.requires_grad for p in module.parameters()] + [m.training for m in module.modules()])
        module.zero_grad()
        trace.append([p.grad for p in module.parameters()])
        return trace

    both(scenario)


def test_apply_order(both):
    def scenario(t):
        trace = []
        net(t).apply(lambda m: trace.append(m._get_name()))
        return trace

    both(scenario)


def test_deepcopy(both):
    def scenario(t):
        module = net(t)
        module.register_forward_hook(lambda m, a, o: o * 2)
        twin = copy.deepcopy(module)
        x = t.ones(1, 2)
        own = twin.first.weight.data_ptr() != module.first.weight.data_ptr()
        return own, twin.shared is twin.first, twin(x).tolist() == module(x).tolist(), names(twin)

    both(scenario)


def test_sequential_is_a_list(both):
    def scenario(t):
        nn = t.nn
        seq = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
        seq.append(nn.Sigmoid())
        trace = [repr(seq), repr(seq[1:]), len(seq), repr(seq[-1]), seq.b is seq[1]]
        del seq[0]
        seq.insert(1, nn.GELU())
        trace += [repr(seq), repr(seq + nn.Sequential(nn.ELU())), repr(seq * 2)]
        seq.extend([nn.SiLU()])
        seq[0] = nn.Identity()
        trace += [repr(seq), repr(seq.pop(1)), repr(seq), attempt(lambda: seq[9])]
        return trace

    both(scenario)


def test_module_list_and_dict(both):
    def scenario(t):
        nn = t.nn
        items = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        items.insert(1, nn.GELU())
        items += [nn.ELU()]
        trace = [repr(items), repr(items[1:3]), len(items), attempt(lambda: items[7]), repr(items.pop(-1))]
        table = nn.ModuleDict([("a", nn.ReLU()), ("b", nn.Tanh())])
        table.update({"c": nn.ELU()})
        trace += [list(table), "b" in table, repr(table.pop("a")), list(table.keys()), repr(table)]
        params = nn.ParameterDict({"z": t.ones(1), "a": t.zeros(1)})
        trace += [list(params), list(params | nn.ParameterDict({"q": t.ones(1)})), params.get("none", 4)]
        return trace

    both(scenario)


def test_dir_and_unknown_attribute(both):
    def scenario(t):
        module = net(t)
        return [n for n in ("first", "count", "forward", "training") if n in dir(module)], attempt(
            lambda: module.unknown
        )

    both(scenario)


def test_a_scripted_module_says_how_to_save():
    with pytest.raises(AttributeError, match="no attribute 'save'; .*keep its weights with torch.save"):
        ours.jit.script(ours.nn.Linear(2, 1)).save("model.pt")


def test_module_is_collected():
    import ms_adapter.pytorch as t

    module = net(t)
    module.me = [module]
    gone = weakref.ref(module)
    del module
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "name", ["zeros_", "ones_", "normal_", "uniform_", "xavier_uniform_", "xavier_normal_"]
)
def test_init_stream(both, name):
    def scenario(t):
        t.manual_seed(3)
        return getattr(t.nn.init, name)(t.empty(7, 5, dtype=t.float64)).tolist()

    both(scenario)


def test_init_more(both):
    def scenario(t):
        t.manual_seed(4)
        init, made = t.nn.init, []
        for mode in ("fan_in", "fan_out"):
            made.append(init.kaiming_uniform_(t.empty(4, 3, 2), mode=mode, nonlinearity="relu").tolist())
        made.append(init.dirac_(t.empty(4, 2, 3, 3), groups=2).tolist())
        made.append(init.eye_(t.empty(3, 4)).tolist())
        made.append(
            [init.calculate_gain(n) for n in ("linear", "conv2d", "tanh", "relu", "leaky_relu", "selu")]
        )
        made.append(attempt(lambda: init.xavier_uniform_(t.empty(3))))
        return made

    both(scenario)


def test_what_changes_between_calls(both):
    """A call heeds hooks, forward and __dict__ as they are now, not as an earlier call found them."""

    def scenario(t):
        class Through(t.nn.Module):
            def forward(self, x):
                return x

        module, trace = Through(), []

        def call():
            trace.append(module(t.ones(1)).item())

        call()
        handle = module.register_forward_hook(lambda m, args, result: result + 1)
        call()
        handle.remove()
        call()
        module._forward_pre_hooks = type(module._forward_pre_hooks)()
        module.register_forward_pre_hook(lambda m, args: (args[0] * 5,))
        call()
        module._forward_pre_hooks.clear()
        module.forward = lambda x: x * 7
        call()
        del module.forward
        call()
        module.__dict__ = {**module.__dict__, "forward": lambda x: x * 9}
        call()
        Through.forward = lambda self, x: x * 11
        del module.forward
        call()
        return trace

    both(scenario)
