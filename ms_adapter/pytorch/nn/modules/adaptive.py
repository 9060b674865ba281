"""The adaptive softmax: rare classes in clusters of their own, with smaller projections."""

from collections import namedtuple

import ms_adapter.pytorch as torch

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of many classes, sorted by falling frequency, without computing all of them.

    The head decides among the ``cutoffs[0]`` most frequent classes and the clusters between the other
    cutoffs; a cluster's tail, ``div_value`` times narrower than that of the cluster before, decides within.
    Called with (N, in_features) and (N,) classes it gives the log-probabilities of these and their mean loss.

    >>> import ms_adapter.pytorch as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])
    >>> layer.log_prob(torch.randn(3, 8)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None
    ):
        super().__init__()
        cutoffs = _checked_cutoffs(list(cutoffs), n_classes)
        place = {"device": device, "dtype": dtype}
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(self._clusters(), 1):
            width = int(in_features // div_value**number)
            layers = (
                Linear(in_features, width, bias=False, **place),
                Linear(width, high - low, bias=False, **place),
            )
            self.tail.append(Sequential(*layers))

    def _clusters(self):
        """First class and end of each cluster."""
        return list(zip(self.cutoffs[:-1], self.cutoffs[1:], strict=True))

    def reset_parameters(self):
        """Draw all projections anew."""
        self.head.reset_parameters()
        for project, decide in self.tail:
            project.reset_parameters()
            decide.reset_parameters()

    def forward(self, input, target):
        batched = target.dim() > 0
        self._check(input, target)
        if not batched:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        if bool(((target < 0) | (target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        choice = target
        for number, (low, high) in enumerate(self._clusters()):
            choice = torch.where((target >= low) & (target < high), self.shortlist_size + number, choice)
        output = self._head_log_prob(input).gather(1, choice.unsqueeze(1)).squeeze(1)
        for tail, (low, high) in zip(self.tail, self._clusters(), strict=True):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                within = F.log_softmax(tail(input.index_select(0, rows)), dim=1)
                own = within.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, rows, own)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _check(self, input, target):
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs "
                f"with sizes {input.shape}."
            )
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")

    def _head_log_prob(self, input):
        return F.log_softmax(self.head(input), dim=1)

    def log_prob(self, input):
        """The log-probabilities of all classes: (N, in_features) to (N, n_classes)."""
        head = self._head_log_prob(input)
        parts = [head[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail, self.shortlist_size):
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, number].unsqueeze(1))
        return torch.cat(parts, 1)

    def predict(self, input):
        """The likeliest class of each row; tails are computed only for rows whose head chose a cluster."""
        head = self.head(input)
        best = head.argmax(dim=1)
        unsure = best >= self.shortlist_size
        if not bool(unsure.any()):
            return best
        rows = unsure.nonzero().squeeze(1)
        return best.index_copy(0, rows, self.log_prob(input.index_select(0, rows)).argmax(dim=1))


def _checked_cutoffs(cutoffs, n_classes):
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = cutoffs == sorted(set(cutoffs))
    if not rising or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
        raise ValueError(
            f"cutoffs should be unique, positive integers in increasing order, each between 1 and "
            f"{n_classes - 1}, got {cutoffs}"
        )
    return cutoffs
