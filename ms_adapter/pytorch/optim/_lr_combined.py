"""Schedulers made of schedulers: one after another, or all at once."""

from ._lr_base import LRScheduler, _current, _set_value


class _Combined(LRScheduler):
    """What they share: a state that holds the states of the schedulers."""

    def state_dict(self):
        """Everything but the optimizer, the schedulers as their own states."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict):
        """Take back what :meth:`state_dict` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)


class ChainedScheduler(_Combined):
    """Schedulers that all step together, each on what the one before it set."""

    def __init__(self, schedulers, optimizer=None):
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        for number, scheduler in enumerate(schedulers):
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    "ChainedScheduler expects all schedulers to belong to the same optimizer, but "
                    f"{type(scheduler).__name__} at index {number} has another one."
                )
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = _current(optimizer)

    def step(self):
        """Advance all of them by one step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _current(self.optimizer)


class SequentialLR(_Combined):
    """Schedulers one after another, the next at each of the ``milestones``."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(schedulers) < 1:
            raise ValueError(
                "SequentialLR expects at least one scheduler to be chained, but got no scheduler."
            )
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueError("SequentialLR expects all schedulers to belong to the same optimizer.")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR expects one milestone fewer than schedulers; got {len(schedulers)} schedulers "
                f"and {len(milestones)} milestones."
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:  # each of them has taken its first step: go back
            _set_value(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self):
        """Advance by one step."""
        self.last_epoch += 1
        number = sum(1 for milestone in self._milestones if milestone <= self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()
