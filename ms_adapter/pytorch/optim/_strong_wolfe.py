"""A line search for the strong Wolfe conditions: bracket a good step, then zoom into the bracket."""

from collections import namedtuple

# One place on the line: how far, the loss and gradient there, and the loss's slope along the line.
Point = namedtuple("Point", ["step", "loss", "grad", "slope"])

_DECREASE = 1e-4  # of the slope at the start: the least fall of the loss for each step's length
_FLATTER = 0.9  # how much of the slope at the start may be left
_MAX_STEPS = 25  # after the first, of bracketing and zooming together
_LEAST_CHANGE = 1e-9  # of any parameter


def _lowest(a, b, bounds=None):
    """Where the cubic through two points with their slopes is lowest, within bounds."""
    low, high = bounds or (min(a.step, b.step), max(a.step, b.step))
    mixed = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = mixed**2 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    root = square**0.5
    if a.step > b.step:
        a, b = b, a
    step = b.step - (b.step - a.step) * ((b.slope + root - mixed) / (b.slope - a.slope + 2 * root))
    return min(max(step, low), high)


def strong_wolfe(evaluate, first, largest, most=_MAX_STEPS):
    """(point, evaluations): a point on the line that satisfies the conditions, or the best one met.

    ``first`` has the loss, gradient and slope at the start and the step to try first; ``largest`` is the
    direction's largest element; at most ``most`` evaluations follow that of the first step.
    """
    most = min(most, _MAX_STEPS)
    start = first._replace(step=0)
    bracket, tried = _bracket(evaluate, start, first.step, most)
    if len(bracket) > 1:
        bracket, tried = _zoom(evaluate, start, bracket, tried, largest, most)
    return min(bracket, key=lambda point: point.loss), tried + 1


def _falls_too_little(point, start):
    return point.loss > start.loss + _DECREASE * point.step * start.slope


def _is_flat(point, start):
    return abs(point.slope) <= -_FLATTER * start.slope


def _bracket(evaluate, start, step, most):
    """([point] that will do or [a, b] with such a one between, evaluations after the first)."""
    before, here = start, evaluate(step)
    for tried in range(most):
        if _falls_too_little(here, start) or (tried > 1 and here.loss >= before.loss):
            return [before, here], tried
        if _is_flat(here, start):
            return [here], tried
        if here.slope >= 0:
            return [before, here], tried
        bounds = (here.step + 0.01 * (here.step - before.step), here.step * 10)
        before, here = here, evaluate(_lowest(before, here, bounds))
    return [start, here], most


def _zoom(evaluate, start, bracket, tried, largest, most):
    """Shorten the bracket until one of its ends will do."""
    low, high = sorted(bracket, key=lambda point: point.loss)
    stuck = False
    while tried < most and abs(high.step - low.step) * largest >= _LEAST_CHANGE:
        step, stuck = _inner_step(low, high, stuck)
        here = evaluate(step)
        tried += 1
        if _falls_too_little(here, start) or here.loss >= low.loss:
            low, high = sorted([low, here], key=lambda point: point.loss)
            continue
        if _is_flat(here, start):
            return [here], tried
        if here.slope * (high.step - low.step) >= 0:
            high = low
        low = here
    return [low, high], tried


def _inner_step(low, high, stuck):
    """The next step to try: one too near an end a second time is moved inside."""
    step = _lowest(low, high)
    left, right = min(low.step, high.step), max(low.step, high.step)
    margin = 0.1 * (right - left)
    if min(right - step, step - left) >= margin:
        return step, False
    if not stuck and left < step < right:
        return step, True
    return (right - margin if abs(step - right) < abs(step - left) else left + margin), False
