"""L-BFGS: steps along an approximate Newton direction, from the last changes of position and gradient."""

import ms_adapter.pytorch as torch

from ._strong_wolfe import Point, strong_wolfe
from .optimizer import Optimizer, _to_scalar, check_option

__all__ = ["LBFGS"]

_LEAST_CURVATURE = 1e-10  # a change with less of it would spoil the approximation


class LBFGS(Optimizer):
    """Limited-memory BFGS: one step runs up to ``max_iter`` iterations and calls the closure many times.

    There is one parameter group. ``line_search_fn`` is None (every iteration goes ``lr`` far) or
    "strong_wolfe".

    >>> import ms_adapter.pytorch as torch
    >>> x = torch.nn.Parameter(torch.tensor([3.0, -4.0], dtype=torch.float64))
    >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> bool((x - 1).abs().max() < 1e-6)
    True
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-07,
        tolerance_change=1e-09,
        history_size=100,
        line_search_fn=None,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_option("learning rate", lr, lr >= 0.0)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # ---- all parameters as one vector of reals ---------------------------------------------------
    def _gather_flat_grad(self):
        return torch.cat([_flat(p if p.grad is None else p.grad, p.grad is None) for p in self._params])

    def _move(self, step, direction):
        """Move all parameters ``step`` times ``direction``."""
        start = 0
        for param in self._params:
            real = torch.view_as_real(param) if param.is_complex() else param
            count = real.numel()
            real.add_(direction[start : start + count].view_as(real), alpha=step)
            start += count

    def _evaluate(self, closure, start, step, direction):
        """The :class:`Point` ``step`` times ``direction`` away; the parameters go back to ``start``."""
        self._move(step, direction)
        loss, grad = float(closure()), self._gather_flat_grad()
        for param, value in zip(self._params, start, strict=True):
            param.copy_(value)
        return Point(step, loss, grad, grad.dot(direction))

    # ---- the step -------------------------------------------------------------------------------
    @torch.no_grad()
    def step(self, closure):
        """One step: ``closure`` computes loss and gradients anew, and is called at each place looked at."""
        closure = torch.enable_grad()(closure)
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        state["func_evals"] += 1
        loss, grad = float(first_loss), self._gather_flat_grad()
        evaluations = 1
        done = bool(grad.abs().max() <= group["tolerance_grad"])
        for iteration in range(1, group["max_iter"] + 1):
            if done:
                break
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            step = _to_scalar(group["lr"])
            if state["n_iter"] == 1:
                step = min(1.0, 1.0 / grad.abs().sum()) * step
            state["t"], slope = step, grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            here, last = Point(step, loss, grad, slope), iteration == group["max_iter"]
            most = group["max_eval"] - evaluations
            moved, used = self._advance(closure, here, direction, group["line_search_fn"], most, last)
            state["t"], loss, grad = moved.step, moved.loss, moved.grad
            evaluations += used
            state["func_evals"] += used
            done = (
                evaluations >= group["max_eval"]
                or bool(grad.abs().max() <= group["tolerance_grad"])
                or bool((direction * moved.step).abs().max() <= group["tolerance_change"])
                or abs(loss - state["prev_loss"]) < group["tolerance_change"]
            )
        return first_loss

    def _direction(self, state, grad, history_size):
        """Minus the gradient, turned by the approximate inverse Hessian that the history stands for."""
        if state["n_iter"] == 1:
            state.update(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return state["d"]
        change, moved = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        changes, moves, inverse = state["old_dirs"], state["old_stps"], state["ro"]
        curvature = change.dot(moved)
        if curvature > _LEAST_CURVATURE:
            if len(changes) == history_size:
                for kept in (changes, moves, inverse):
                    kept.pop(0)
            changes.append(change)
            moves.append(moved)
            inverse.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        shares = state.setdefault("al", [None] * history_size)
        direction = grad.neg()
        for i in reversed(range(len(changes))):
            shares[i] = moves[i].dot(direction) * inverse[i]
            direction.add_(changes[i], alpha=-shares[i])
        direction = direction.mul(state["H_diag"])
        for i in range(len(changes)):
            direction.add_(moves[i], alpha=shares[i] - changes[i].dot(direction) * inverse[i])
        state["d"] = direction
        return direction

    def _advance(self, closure, here, direction, line_search, most, last):
        """Move along ``direction``: the point reached, and the evaluations that took, about ``most``.

        After the ``last`` iteration nobody asks for loss and gradient there, unless a search knows them.
        """
        if line_search is None:
            self._move(here.step, direction)
            if last:
                return here, 0
            return here._replace(loss=float(closure()), grad=self._gather_flat_grad()), 1
        if line_search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [param.clone(memory_format=torch.contiguous_format) for param in self._params]

        def evaluate(step):
            return self._evaluate(closure, start, step, direction)

        found, used = strong_wolfe(evaluate, here, direction.abs().max(), most)
        self._move(found.step, direction)
        return found, used


def _flat(tensor, as_zeros):
    tensor = torch.zeros_like(tensor) if as_zeros else tensor
    tensor = tensor.to_dense() if tensor.is_sparse else tensor
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).reshape(-1)
