"""Multi-head attention: projections, masks, heads; the attention itself is an operator where no weights are
asked.
"""

import math
import warnings

import ms_adapter.pytorch as torch

from ... import _operators

_rows = _operators.Rows("nn.functional")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask as numbers to add: True becomes minus infinity."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both "
            f"instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _none_or_dtype(value):
    return None if value is None else value.dtype


def _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the inputs are batched; complains where they do not fit each other."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    if not key.dim() == value.dim() == query.dim():
        raise AssertionError(
            f"For {query.dim()}-D query, expected key and value of {query.dim()} dimensions but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"For {query.dim()}-D query, expected key_padding_mask to be None or {query.dim() - 1}-D but "
            f"found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"expected attn_mask to be None, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )
    return query.dim() == 3


def _project(query, key, value, packed, separate, bias):
    """Queries, keys and values after their projections, whose weights are one or three tensors."""
    linear = torch.nn.functional.linear
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    weights = separate if packed is None else packed.chunk(3)
    if packed is not None and query is key and key is value:
        return linear(query, packed, bias).chunk(3, -1)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]


def _heads(x, num_heads):
    """(L, N, E) to (N * heads, L, E / heads)."""
    length, batch, size = x.shape
    return x.reshape(length, batch * num_heads, size // num_heads).transpose(0, 1)


def _with_one_more(mask):
    """A mask with a column for a position that is never masked."""
    if mask is None:
        return None
    return torch.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)


def _three_dimensional(attn_mask, batch, num_heads, tgt_len, src_len):
    """An attention mask as (1 or N * heads, L, S), its shape checked."""
    if attn_mask is not None:
        wanted = (tgt_len, src_len) if attn_mask.dim() == 2 else (batch * num_heads, tgt_len, src_len)
        if tuple(attn_mask.shape) != wanted:
            raise RuntimeError(
                f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {wanted}."
            )
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
    return attn_mask


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention of (L, N, E) queries to (S, N, E) keys and values in ``num_heads`` heads, projected before
    and after.

    Returns the output (L, N, E) and, with ``need_weights``, the weights (N, L, S), averaged over the heads or
    not.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    tgt_len, batch, embed_dim = query.shape
    if embed_dim != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}"
        )
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the operator masks by itself
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = False
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    packed = None if use_separate_proj_weight else in_proj_weight
    q, k, v = _project(query, key, value, packed, separate, in_proj_bias)
    mask = _three_dimensional(attn_mask, batch, num_heads, tgt_len, key.size(0))
    if bias_k is not None:
        k, v = torch.cat([k, bias_k.repeat(1, batch, 1)]), torch.cat([v, bias_v.repeat(1, batch, 1)])
        mask, key_padding_mask = _with_one_more(mask), _with_one_more(key_padding_mask)
    q = _heads(q, num_heads)
    k = _heads(k, num_heads) if static_k is None else static_k
    v = _heads(v, num_heads) if static_v is None else static_v
    if add_zero_attn:
        k, v = (torch.cat([x, x.new_zeros((x.size(0), 1, x.size(2)))], 1) for x in (k, v))
        mask, key_padding_mask = _with_one_more(mask), _with_one_more(key_padding_mask)
    if key_padding_mask is not None:
        padding = key_padding_mask.reshape(batch, 1, 1, -1).expand(-1, num_heads, -1, -1)
        padding = padding.reshape(batch * num_heads, 1, -1)
        mask = padding if mask is None else mask + padding
    dropout_p = dropout_p if training else 0.0
    attend = _attend_with_weights if need_weights else _attend
    output, weights = attend(q, k, v, mask, dropout_p, is_causal, batch, num_heads)
    output = torch.nn.functional.linear(output, out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = weights.mean(dim=1)
    if not batched:
        output, weights = output.squeeze(1), None if weights is None else weights.squeeze(0)
    return output, weights


def _attend_with_weights(q, k, v, mask, dropout_p, is_causal, batch, num_heads):
    """The output (L, N, E) and the weights (N, heads, L, S)."""
    scaled = q * math.sqrt(1.0 / float(q.size(-1)))
    keys = k.transpose(-2, -1)
    scores = torch.bmm(scaled, keys) if mask is None else torch.baddbmm(mask, scaled, keys)
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = torch.nn.functional.dropout(weights, p=dropout_p)
    output = torch.bmm(weights, v).transpose(0, 1)
    output = output.reshape(output.size(0), batch, -1)
    return output, weights.view(batch, num_heads, weights.size(1), weights.size(2))


def _attend(q, k, v, mask, dropout_p, is_causal, batch, num_heads):
    """The output (L, N, E) by the fused operator."""
    q, k, v = (x.reshape(batch, num_heads, *x.shape[1:]) for x in (q, k, v))
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.size(0) == 1 else mask.reshape(batch, num_heads, -1, mask.size(-1))
    output = _rows.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return output.permute(2, 0, 1, 3).reshape(output.size(2), batch, -1), None
