"""Embedding: rows of a table chosen by index."""

import ms_adapter.pytorch as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both kinds of embedding share: the table and how its rows are limited and counted."""

    def _set_table(
        self, rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, table, frozen, place
    ):
        if padding_idx is not None:
            if not -rows <= padding_idx < rows:
                raise AssertionError("padding_idx must be within num_embeddings")
            padding_idx += rows if padding_idx < 0 else 0
        self.num_embeddings = rows
        self.embedding_dim = columns
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        if table is not None and list(table.shape) != [rows, columns]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(torch.empty((rows, columns), **place) if table is None else table, not frozen)
        if table is None:
            self.reset_parameters()

    def reset_parameters(self):
        """Draw the table from the standard normal distribution; the padding row is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _unusual(self):
        """The representation's parts for options that are not the usual ones."""
        parts = []
        if self.max_norm is not None:
            parts.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            parts.append(f"norm_type={self.norm_type}")
        if self.scale_grad_by_freq is not False:
            parts.append(f"scale_grad_by_freq={self.scale_grad_by_freq}")
        return parts


class Embedding(_Table):
    """A table of ``num_embeddings`` rows of ``embedding_dim`` numbers, looked up by integer tensors of any
    shape.

    >>> import ms_adapter.pytorch as torch
    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2], [4, 5]])).shape
    torch.Size([2, 2, 3])
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        options = (padding_idx, max_norm, norm_type, scale_grad_by_freq, _weight, _freeze)
        self._set_table(num_embeddings, embedding_dim, *options, {"device": device, "dtype": dtype})
        self.sparse = sparse

    def forward(self, input):
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self):
        padding = [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        sparse = ["sparse=True"] if self.sparse is not False else []
        return ", ".join(
            [f"{self.num_embeddings}, {self.embedding_dim}", *padding, *self._unusual(), *sparse]
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
    ):
        """An Embedding whose table is ``embeddings`` (rows, columns), not trained unless ``freeze=False``."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, cols = embeddings.shape
        return cls(
            rows,
            cols,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """The sum, mean or largest of the rows of a table that each bag of indices names.

    >>> import ms_adapter.pytorch as torch
    >>> torch.nn.EmbeddingBag(10, 3, mode="sum")(torch.tensor([[1, 2], [4, 5]])).shape
    torch.Size([2, 3])
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    ]

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        options = (padding_idx, max_norm, norm_type, scale_grad_by_freq, _weight, False)
        self._set_table(num_embeddings, embedding_dim, *options, {"device": device, "dtype": dtype})
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        parts = [f"{self.num_embeddings}, {self.embedding_dim}", *self._unusual(), f"mode={self.mode!r}"]
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """An EmbeddingBag whose table is ``embeddings`` (rows, columns), trained only where not frozen."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, cols = embeddings.shape
        bag = cls(
            rows,
            cols,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
