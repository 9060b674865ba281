"""What a profile knows: events in time, one in another, and their sums by name as a table."""

import json
import os

_GAP = "  "


def _time_text(us):
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class Interval:
    """From when to when, in microseconds."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """How long."""
        return self.end - self.start


class _Times:
    """What events and their averages have in common."""

    @property
    def cpu_time(self):
        """Microseconds of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self):
        """``cpu_time`` as text."""
        return _time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self):
        """``cpu_time_total`` as text."""
        return _time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self):
        """``self_cpu_time_total`` as text."""
        return _time_text(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call of an operator, or one block of ``record_function``."""

    count = 1

    def __init__(self, id, name, start_us, end_us, is_user_annotation=False):
        self.id, self.name = id, name
        self.key = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.time_range = Interval(start_us, end_us)
        self.is_user_annotation = is_user_annotation
        self.cpu_parent, self.cpu_children = None, []
        self.input_shapes = []

    @property
    def cpu_time_total(self):
        """Microseconds from its begin to its end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self):
        """Microseconds without those of the events inside of it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self):
        return f"<FunctionEvent {self.name}: {self.cpu_time_total_str}>"


class FunctionEventAvg(_Times):
    """All events of one name."""

    def __init__(self, key, is_user_annotation=False):
        self.key, self.is_user_annotation = key, is_user_annotation
        self.count, self.cpu_time_total, self.self_cpu_time_total = 0, 0.0, 0.0
        self.input_shapes = []

    def add(self, event):
        """Count an event, or another average."""
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        return self

    def __repr__(self):
        return f"<FunctionEventAvg {self.key}: {self.count} calls, {self.cpu_time_total_str}>"


def nested(calls):
    """Events of (name, begin, end in nanoseconds, whether a user's block), each in the one that it ran in."""
    calls = sorted(calls, key=lambda call: (call[1], -call[2]))
    events, open_events = EventList(), []
    for name, begin, end, is_user in calls:
        event = FunctionEvent(len(events), name, begin / 1e3, end / 1e3, is_user)
        while open_events and open_events[-1].time_range.end < event.time_range.end:
            open_events.pop()
        if open_events:
            event.cpu_parent = open_events[-1]
            event.cpu_parent.cpu_children.append(event)
        open_events.append(event)
        events.append(event)
    return events


class EventList(list):
    """Events, or their averages."""

    @property
    def self_cpu_time_total(self):
        """Microseconds of all."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """The sums of the events of each name."""
        averages = {}
        for event in self:
            place = averages.get(event.key) or averages.setdefault(
                event.key, FunctionEventAvg(event.key, event.is_user_annotation)
            )
            place.add(event)
        return EventList(averages.values())

    def total_average(self):
        """The sum of all events."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ):
        """A table: of each name its own time, its time with what ran inside of it, and its calls.

        ``sort_by`` is the name of an attribute, as "cpu_time_total" or "self_cpu_time_total".
        """
        rows = [e for e in self if not (top_level_events_only and getattr(e, "cpu_parent", None))]
        if sort_by is not None:
            rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        rows = rows if row_limit < 0 else rows[:row_limit]
        total = self.self_cpu_time_total or 1.0
        names = [_shortened(event.key, max_name_column_width) for event in rows]
        widths = [max([4, *map(len, names)]) + 4, *[12] * 6]
        heads = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        line = _GAP.join("-" * width for width in widths) + _GAP

        def joined(cells):
            return _GAP.join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) + _GAP

        lines = [header] if header else []
        lines += [line, joined(heads), line]
        for name, event in zip(names, rows, strict=True):
            lines.append(
                joined(
                    [
                        name,
                        f"{event.self_cpu_time_total / total * 100:.2f}%",
                        event.self_cpu_time_total_str,
                        f"{event.cpu_time_total / total * 100:.2f}%",
                        event.cpu_time_total_str,
                        event.cpu_time_str,
                        str(event.count),
                    ]
                )
            )
        return "\n".join([*lines, line, f"Self CPU time total: {_time_text(self.self_cpu_time_total)}", ""])

    def export_chrome_trace(self, path):
        """Write the events as a trace that chrome://tracing and Perfetto show."""
        trace = [
            {
                "ph": "X",
                "name": event.name,
                "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                "ts": event.time_range.start,
                "dur": event.cpu_time_total,
                "pid": os.getpid(),
                "tid": 1,
            }
            for event in self
        ]
        with open(path, "w") as file:
            json.dump({"traceEvents": trace, "displayTimeUnit": "ms"}, file)

    def __str__(self):
        return self.table()


def _shortened(name, most):
    return name if most is None or len(name) <= most else name[: most - 3] + "..."
