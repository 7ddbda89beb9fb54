"""Spans: what the user called the parts of the work (`with distributed.span("load"):`).

Dask keeps what is known of each on the scheduler, until that ends; here it is reported while
it changes.  Without any span, Dask itself has one for all tasks, named `default`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed.spans import Span

_MOST_SPANS = 1_000
_MOST_GROUPS, _MOST_METRICS = 200, 500


class Spans:
    """Tells of the spans in which tasks of ours are, each time that one has changed.

    Args:
        report: Takes kind, subject and particulars of an event.
    """

    def __init__(self, scheduler: object, report: Callable[..., None]) -> None:
        self._scheduler, self._report = scheduler, report
        self._reported: dict[
            str, object
        ] = {}  # what changes, by id; None: not reported yet
        self._done: set[str] = set()
        self.excludes = 0

    def seen(self, groups: Iterable[object]) -> None:
        """Note the spans of groups in which a graph has brought tasks of ours."""
        known = {str(getattr(group, "span_id", None) or "") for group in groups}
        for span in known - self._reported.keys() - {""}:
            if len(self._reported) < _MOST_SPANS:
                self._reported[span] = None
            else:
                self.excludes += 1
        self._done -= known

    def check(self) -> None:
        """Tell of those that have changed since the last time."""
        spans = getattr(self._extension(), "spans", {})
        for name in [n for n in self._reported if n not in self._done]:
            span = spans.get(name)
            while span is not None and span.parent is not None:
                span = span.parent
                self._reported.setdefault(span.id, None)
        for name in [n for n in self._reported if n not in self._done]:
            span = spans.get(name)
            if span is None:
                continue
            facts = _facts(span)
            spent = sum(each[-1] for each in facts["metrics"])
            changing = (facts["states"], facts["nbytes"], spent)
            if changing != self._reported[name]:
                self._reported[name] = changing
                self._report("span", name, **facts)
            elif facts["done"]:  # until another graph has tasks in it
                self._done.add(name)
        if self.excludes:
            excludes, self.excludes = self.excludes, 0
            error = f"{excludes} more spans than the {_MOST_SPANS} that are recorded"
            self._report("capture-failed", "", doing="spans", error=error)

    def _extension(self) -> object:
        return (getattr(self._scheduler, "extensions", None) or {}).get("spans")


def _facts(span: Span) -> dict[str, Any]:
    """Return what is known of a span itself, without the spans within it."""
    groups = list(span.groups)
    states: dict[str, int] = {}
    durations: dict[str, float] = {}
    for group in groups:
        for state, count in group.states.items():
            if count:
                states[state] = states.get(state, 0) + count
        for action, seconds in group.all_durations.items():
            durations[action] = durations.get(action, 0.0) + seconds
    metrics = getattr(span, "_cumulative_worker_metrics", None) or {}
    starts = [group.start for group in groups if group.start]
    return {
        "name": [str(word) for word in span.name],
        "parent": None if span.parent is None else span.parent.id,
        "enqueued": span.enqueued,
        "start": min(starts) if starts else None,
        "stop": max((group.stop for group in groups if group.stop), default=None),
        "done": all(group.done for group in groups),
        "states": states,
        "nbytes": sum(group.nbytes_total for group in groups),
        "durations": durations,
        "groups": [group.name for group in groups[:_MOST_GROUPS]],
        "all_groups": len(groups),
        "metrics": [
            [*map(str, key if isinstance(key, tuple) else (key,)), value]
            for key, value in list(metrics.items())[:_MOST_METRICS]
        ],
    }
