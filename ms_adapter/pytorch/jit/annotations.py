"""torch.jit.annotations: names that annotations of scripted code are written with."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035 - what others import from here


class _Broadcasting:
    """BroadcastingList2[int]: the annotation of what one int may stand for."""

    def __getitem__(self, kind):
        return kind


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _Broadcasting()
