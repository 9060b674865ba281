"""Sequences of different lengths: padded into one tensor, or packed step by step without the padding."""

from collections import namedtuple

import ms_adapter.pytorch as torch

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_Fields = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])
_CASTS = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
}


class PackedSequence(_Fields):
    """The steps of several sequences, longest first, in one tensor: what recurrent layers run over.

    ``data`` holds the first step of every sequence, then the second of those that have one, and so on;
    ``batch_sizes`` counts the rows of each step. ``pack_sequence`` and ``pack_padded_sequence`` make these.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("PackedSequence takes data and batch_sizes, or a pair of the two.")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU, got a tensor on {batch_sizes.device}: make packed "
                "sequences with pack_sequence or pack_padded_sequence."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """``data`` moved and cast as by ``Tensor.to``, the indices moved along; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if i is None else i.to(data.device) for i in self[2:]]
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self):
        """Everything on the CPU."""
        return self.to("cpu")

    def cuda(self, *args, **kwargs):
        """Everything on the accelerator."""
        data = self.data.cuda(*args, **kwargs)
        return self.to(data.device)

    def pin_memory(self):
        """``data`` in pinned memory."""
        return type(self)(self.data.pin_memory(), *self[1:])

    def is_pinned(self):
        """Whether ``data`` lies in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Whether ``data`` lies on a CUDA device."""
        return self.data.is_cuda


def _cast(name, dtype):
    def cast(self):
        return self.to(dtype=getattr(torch, dtype))

    cast.__name__, cast.__doc__ = name, f"``data`` as {dtype}."
    return cast


for _name, _dtype in _CASTS.items():
    setattr(PackedSequence, _name, _cast(_name, _dtype))


def invert_permutation(permutation):
    """The permutation that undoes ``permutation`` (``None`` stays ``None``).

    >>> import ms_adapter.pytorch as torch
    >>> invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = torch.arange(permutation.numel(), device=permutation.device, dtype=permutation.dtype)
    return torch.empty_like(permutation).scatter_(0, permutation, places)


def _used(lengths, steps):
    """(steps, sequences): whether a sequence has that step."""
    return torch.arange(steps, device=lengths.device).unsqueeze(1) < lengths


def _checked_lengths(lengths, batch):
    if lengths.dim() != 1 or lengths.numel() != batch:
        raise RuntimeError(
            f"pack_padded_sequence: expected {batch} lengths, one for each sequence, got {lengths.tolist()}."
        )
    if batch == 0 or bool((lengths <= 0).any()):
        raise RuntimeError(f"pack_padded_sequence: lengths must be positive, got {lengths.tolist()}.")
    if bool((lengths[1:] > lengths[:-1]).any()):
        raise RuntimeError(
            f"pack_padded_sequence: lengths {lengths.tolist()} must be sorted in decreasing order when "
            "`enforce_sorted` is True: pass enforce_sorted=False to have the sequences sorted."
        )


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack padded sequences: (T, B, ...), or (B, T, ...) with ``batch_first``, of these ``lengths``.

    With ``enforce_sorted=False`` the sequences may come in any order; the result remembers it.

    >>> import ms_adapter.pytorch as torch
    >>> padded = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> pack_padded_sequence(padded, [2, 1, 3], batch_first=True, enforce_sorted=False).data
    tensor([4, 1, 3, 5, 2, 6])
    """
    lengths = torch.as_tensor(lengths, dtype=torch.int64)
    if lengths.device.type != "cpu":
        raise RuntimeError(f"pack_padded_sequence: lengths must be on the CPU, not on {lengths.device}.")
    order = None
    if not enforce_sorted:
        lengths, order = torch.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    _checked_lengths(lengths, input.size(1))
    longest = int(lengths[0])
    if longest > input.size(0):
        raise RuntimeError(
            f"pack_padded_sequence: length {longest} exceeds the input's {input.size(0)} steps."
        )
    used = _used(lengths, longest)
    return PackedSequence(input[:longest][used.to(input.device)], used.sum(1), order, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Undo the packing: the padded (T, B, ...) tensor, or (B, T, ...), and the lengths.

    >>> import ms_adapter.pytorch as torch
    >>> packed = pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, sizes = sequence.data, sequence.batch_sizes
    steps, batch = sizes.size(0), int(sizes[0])
    if total_length is not None and total_length < steps:
        raise ValueError(
            f"Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    lengths = (sizes.unsqueeze(1) > torch.arange(batch, device=sizes.device)).sum(0)
    padded_steps = steps if total_length is None else total_length
    rows = _used(lengths, padded_steps).reshape(-1).nonzero().squeeze(1).to(data.device)
    padded = data.new_full((padded_steps * batch, *data.shape[1:]), padding_value)
    padded = padded.index_copy(0, rows, data).reshape(padded_steps, batch, *data.shape[1:])
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences (L_i, ...) into (T, B, ...), or (B, T, ...), with ``padding_value`` where they end.

    >>> import ms_adapter.pytorch as torch
    >>> pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side should be either 'left' or 'right', but got {padding_side}")
    if isinstance(sequences, torch.Tensor):
        sequences = sequences.unbind(0)
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    longest, rest = max(s.size(0) for s in sequences), sequences[0].shape[1:]
    padded = []
    for sequence in sequences:
        if sequence.shape[1:] != rest:
            raise RuntimeError(
                f"pad_sequence: sequences must agree in all dimensions but the first, got {tuple(rest)} and "
                f"{tuple(sequence.shape[1:])}."
            )
        gap = sequence.new_full((longest - sequence.size(0), *rest), padding_value)
        padded.append(torch.cat([gap, sequence] if padding_side == "left" else [sequence, gap]))
    return torch.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The list of sequences that ``pad_sequence`` made one tensor of."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[:length] for sequence, length in zip(padded_sequences, lengths, strict=False)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack a list of sequences (L_i, ...); ``enforce_sorted=False`` takes them in any order."""
    lengths = torch.as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The list of sequences that ``pack_sequence`` packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
