"""Connectionist temporal classification: label sequences against all their alignments, step by step."""

import ms_adapter.pytorch as torch
from ms_adapter.pytorch import _operators
from ms_adapter.pytorch.amp.autocast_mode import _float32_on_cpu

from .._reduction import get_enum as _get_enum

_rows = _operators.Rows("nn.functional")


def _as_list(lengths):
    return [int(n) for n in (lengths.reshape(-1).tolist() if isinstance(lengths, torch.Tensor) else lengths)]


def _with_blanks(targets, lengths, blank):
    """The labels of each sample with blanks between and around them: (N, 2 L + 1), blank where they end."""
    if targets.dim() == 1:
        flat, rows, start = targets.tolist(), [], 0
        for length in lengths:
            rows.append(flat[start : start + length])
            start += length
    else:
        rows = [row[:length] for row, length in zip(targets.tolist(), lengths, strict=True)]
    width = max(lengths, default=0)
    spread = [[blank] * (2 * width + 1) for _ in rows]
    for places, row in zip(spread, rows, strict=True):
        places[1 : 2 * len(row) : 2] = row
    return torch.tensor(spread, dtype=torch.int64)


@_float32_on_cpu
def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    """The negative log likelihood of label sequences under all alignments with (T, N, C) or (T, C)
    log-probabilities.

    As in PyTorch the gradient is that of the logits, so ``log_probs`` should come from ``log_softmax``.
    """
    reduction_number = _get_enum(reduction)
    if log_probs.dtype not in (torch.float32, torch.float64):
        raise NotImplementedError(
            f"ctc_loss: not implemented for {log_probs.dtype}; convert with .float() first"
        )
    batched = log_probs.dim() == 3
    if not batched:
        log_probs = log_probs.unsqueeze(1)
    sizes, lengths = _as_list(input_lengths), _as_list(target_lengths)
    steps, batch, classes = log_probs.shape
    if len(sizes) != batch or len(lengths) != batch:
        raise RuntimeError(f"ctc_loss: input_lengths and target_lengths must be of size {batch}")
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in label range [0, {classes}), but got {blank}")
    if any(not 0 <= n <= steps for n in sizes) or min(lengths, default=0) < 0:
        raise RuntimeError(f"ctc_loss: expected input_lengths of at most {steps}, but got {sizes}")
    if not batched and targets.dim() == 1:
        targets = targets.unsqueeze(0)
    labels = _with_blanks(targets, lengths, blank).to(log_probs.device)
    ends, counts = (torch.tensor(numbers, device=log_probs.device) for numbers in (sizes, lengths))
    loss = _rows._ctc_alignments(log_probs, labels, ends, counts, zero_infinity)
    if zero_infinity:
        loss = torch.where(loss == float("inf"), 0.0, loss)
    if reduction_number == 1:
        return (loss / counts.clamp(min=1).to(loss.dtype)).mean()
    if reduction_number == 2:
        return loss.sum()
    return loss if batched else loss.squeeze(0)
