"""What the example prints: a progress bar, and a curve drawn with characters."""

import math
import sys
from itertools import pairwise

BAR_WIDTH = 30


def progress_bar(done, total, text):
    """Redraw the bar in a terminal; elsewhere print ten lines in all."""
    filled = BAR_WIDTH * done // total
    line = f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done}/{total}  {text}"
    if sys.stdout.isatty():
        print(f"\r{line}\033[K", end="\n" if done == total else "", flush=True)
    elif done * 10 // total != (done - 1) * 10 // total:
        print(line, flush=True)


def loss_curve(losses, width=64, height=10):
    """The losses as text: each column is the mean of its steps, the vertical axis is logarithmic."""
    width = min(width, len(losses))
    edges = [len(losses) * i // width for i in range(width + 1)]
    heights = [math.log10(max(sum(losses[a:b]) / (b - a), 1e-12)) for a, b in pairwise(edges)]
    low, span = min(heights), max(heights) - min(heights) or 1.0
    level = [round((h - low) / span * (height - 1)) for h in heights]
    rows = [
        f"{10 ** (low + span * y / (height - 1)):8.4f} |" + "".join("*" if at == y else " " for at in level)
        for y in reversed(range(height))
    ]
    rows.append(" " * 9 + "+" + "-" * width)
    rows.append(f"{'loss':>8}   step 1 to {len(losses)}")
    return "\n".join(row.rstrip() for row in rows)
