"""torch.nn.attention: flexible attention, causal masks and the choice of implementations as PyTorch's."""

import pytest
import torch.nn.attention.bias  # noqa: F401 - PyTorch does not import these by itself
import torch.nn.attention.flex_attention  # noqa: F401

import ms_adapter.pytorch as face
import ms_adapter.pytorch.nn.attention.bias
import ms_adapter.pytorch.nn.attention.flex_attention  # noqa: F401


def inputs(t, heads=(4, 4), lengths=(5, 7)):
    def made(h, n, step):
        count = 2 * h * n * 3
        values = (t.arange(count, dtype=t.float64) * step).sin()
        return values.reshape(2, h, n, 3)

    return made(heads[0], lengths[0], 0.7), made(heads[1], lengths[1], 1.1), made(heads[1], lengths[1], 0.3)


MODS = {
    "plain": {},
    "score": {"score_mod": lambda s, b, h, q, kv: s * 0.5 + (q - kv) * 0.1 * (h + 1) - b},
    "scale": {"scale": 0.3},
    "lse": {"return_lse": True},
    "mask": {"mask": lambda b, h, q, kv: q >= kv},
    "mask by head": {"mask": lambda b, h, q, kv: (q >= kv) & (h != 1), "return_lse": True},
    "both": {"mask": lambda b, h, q, kv: q + 2 >= kv, "score_mod": lambda s, b, h, q, kv: s - (q - kv).abs()},
}


@pytest.mark.parametrize("name", list(MODS))
def test_flex_attention(nearly, name):
    def scenario(t):
        flex, options = t.nn.attention.flex_attention, dict(MODS[name])
        q, k, v = inputs(t)
        if "mask" in options:
            options["block_mask"] = flex.create_block_mask(options.pop("mask"), 2, 4, 5, 7, device="cpu")
        result = flex.flex_attention(q, k, v, **options)
        return [r.tolist() for r in (result if isinstance(result, tuple) else (result,))]

    nearly(scenario)


@pytest.mark.parametrize("asked", [{}, {"lse": True}])
def test_what_is_asked_for_beside_the_output(nearly, asked):
    def scenario(t):
        flex = t.nn.attention.flex_attention
        output, aux = flex.flex_attention(*inputs(t), return_aux=flex.AuxRequest(**asked))
        return output.tolist(), [None if a is None else a.tolist() for a in aux]

    nearly(scenario)


def test_largest_scores():
    """PyTorch has none of these on the CPU."""
    flex = face.nn.attention.flex_attention
    q, k, v = inputs(face)
    _, aux = flex.flex_attention(q, k, v, scale=0.3, return_aux=flex.AuxRequest(max_scores=True))
    assert aux.lse is None
    assert face.allclose(aux.max_scores, (0.3 * q @ k.mT).amax(-1))


def test_gradients():
    """PyTorch has none of these on the CPU: they are compared with those of plain attention."""
    flex = face.nn.attention.flex_attention
    block = flex.create_block_mask(lambda b, h, q, kv: q + 2 >= kv, None, None, 5, 7)
    grads = []
    for attend in (
        lambda q, k, v: flex.flex_attention(q, k, v, block_mask=block),
        lambda q, k, v: face.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=face.nn.attention.bias.causal_lower_right(5, 7)
        ),
    ):
        tensors = [x.requires_grad_() for x in inputs(face)]
        attend(*tensors).cos().sum().backward()
        grads.append([x.grad for x in tensors])
    assert all((a - b).abs().max() < 1e-12 for a, b in zip(*grads, strict=True))


def test_shared_keys_and_errors(nearly):
    def scenario(t):
        flex = t.nn.attention.flex_attention.flex_attention
        q, k, v = inputs(t, heads=(4, 2))
        shared = flex(q, k, v, enable_gqa=True).tolist()
        for kind, bad in (
            (ValueError, lambda: flex(q, k, v)),
            (NotImplementedError, lambda: flex(q[0], k, v)),
        ):
            with pytest.raises(kind):
                bad()
        return shared

    nearly(scenario)


def test_masks(both):
    def scenario(t):
        flex = t.nn.attention.flex_attention

        def causal(b, h, q, kv):
            return q >= kv

        def near(b, h, q, kv):
            return (q - kv).abs() < 3

        block = flex.create_block_mask(causal, None, None, 10, 12, device="cpu", BLOCK_SIZE=4)
        masks = [causal, flex.and_masks(causal, near), flex.or_masks(causal, near), flex.noop_mask]
        dense = [flex.create_mask(mask, 1, 2, 4, 5, device="cpu").tolist() for mask in masks]
        bias = t.nn.attention.bias
        q, k, v = inputs(t)
        attend = t.nn.functional.scaled_dot_product_attention
        seen = [
            attend(q, k, v, attn_mask=m).tolist()
            for m in (t.ones(5, 7).tril(2).bool(), t.ones(5, 7).tril().bool())
        ]
        ours = [attend(q, k, v, attn_mask=m(5, 7)) for m in (bias.causal_lower_right, bias.causal_upper_left)]
        close = [
            float((o - t.tensor(s, dtype=t.float64)).abs().max()) < 1e-12
            for o, s in zip(ours, seen, strict=True)
        ]
        return dense, block.to_dense().tolist(), block.sparsity(), tuple(block.shape), close

    both(scenario)


def test_choice_of_implementation(both):
    def scenario(t):
        attention = t.nn.attention
        backend, trace = attention.SDPBackend, []
        with attention.sdpa_kernel([backend.MATH, backend.FLASH_ATTENTION]):
            trace.append(sorted(map(str, attention._cur_sdpa_kernel_backends())))
            with attention.sdpa_kernel(backend.MATH):
                trace.append(list(map(str, attention._cur_sdpa_kernel_backends())))
        with pytest.raises(AssertionError), attention.sdpa_kernel("math"):
            pass
        return [*trace, len(attention._cur_sdpa_kernel_backends()), int(backend.EFFICIENT_ATTENTION)]

    both(scenario)
