"""Dump folders, MindSpore's and our own: names without what changes between runs; tables of statistics."""

from __future__ import annotations

import csv
import re
from collections import Counter

from .entry import BadFile, Entry, from_array

# Type.Name.task.stream.time.input|output.slot.format.dtype, the dtype in MindSpore's from 2.5 on
_DUMPED = re.compile(r"^(?P<op>.+)\.\d+\.\d+\.\d+\.(?P<side>input|output|grad)\.(?P<slot>\d+)(\.\w+){0,2}$")
TABLE = "statistic.csv"
_STATISTICS = ("Max Value", "Min Value", "Avg Value", "L2Norm Value", "NaN Count", "Negative Inf Count",
               "Positive Inf Count", "Zero Count")  # fmt: skip


def plain_name(label: str) -> str:
    """A dumped file's name without task, stream and time; any other label as it is."""
    folder, slash, name = label.rpartition("/")
    found = _DUMPED.match(name)
    if not found:
        return label
    return f"{folder}{slash}{found['op']}.{found['side']}.{found['slot']}"


def number_repeats(entries: list[Entry]) -> list[Entry]:
    """The same entries, the second of a name called `name#2`: calls of one operator, in their order."""
    seen: Counter[str] = Counter()
    for entry in entries:
        seen[entry.name] += 1
        if seen[entry.name] > 1:
            entry.name = f"{entry.name}#{seen[entry.name]}"
    return entries


def read_statistics(path: str) -> list[Entry]:
    """A table of statistics: each row is a small tensor of those figures that are in it."""
    import numpy as np

    entries = []
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        wanted = [name for name in _STATISTICS if name in (rows.fieldnames or ())]
        if not wanted or "Op Name" not in (rows.fieldnames or ()):
            raise BadFile("no table of dumped statistics")
        for row in rows:
            name = f"{row.get('Op Type', '')}.{row['Op Name']}.{row.get('IO', '')}.{row.get('Slot', '')}"
            try:
                figures = [float(row[column] or "nan") for column in wanted]
            except (TypeError, ValueError):
                entries.append(Entry(name, error="half written: a row without all figures"))
                continue
            entries.append(from_array(name, np.array(figures)))
    return number_repeats(entries)
