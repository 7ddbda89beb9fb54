"""The terms of remedies in the host that started a run: Airflow's, Prefect's, or Dask's.

A host's package registers a `RemedyDialect` by an entry point of the group
`dask_blackbox.dialects`, with the host's name in the run's identity.  Without it, remedies use
Dask's own terms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from math import ceil

from dask_blackbox.formatting import need
from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded
from dask_blackbox.setting_changes import Kind, changes_in

GROUP = "dask_blackbox.dialects"
"""The group of entry points."""

_MOST_LINES = 4


@dataclass(frozen=True, kw_only=True)
class RemedyDialect:
    """A host's names for Dask's things.

    Attributes:
        run: What the host calls a run that is recorded.
        engine: A part of the path of the host's code that calls its own tasks; a traceback
            through it is one of them.  Empty: the host's tasks are no Dask tasks.
        task_retries: What retries a task of the host's own, as code.
        shipped: Where a function is defined that Dask sends to the workers as it is.
        notices: A pattern of the lines in which the host says that a task of its own
            failed and that it will try it again, or how it enforces a time limit.  Empty:
            it says so nowhere.
        remedies: What to do, by a text that only errors of this host hold.
        settings: The host's names of settings of ours that it has by another name.
        paste: What says where the host's code takes settings: `{lines}` stands for them,
            other names for facts of the run's host.  Without one of those facts, it does
            not apply.
        arguments: Which argument of the host's code takes a kind of setting.  A fact
            `takes` of the run's host names those that have an effect on its cluster; without
            it, all have.
        time_limits: How the host's code writes a time limit, by its name: `{seconds}` stands
            for how much.
    """

    run: str = "run"
    engine: str = ""
    task_retries: str = ""
    shipped: str = "in the script itself"
    notices: str = ""
    remedies: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    paste: str = ""
    arguments: Mapping[Kind, str] = field(default_factory=dict)
    time_limits: Mapping[str, str] = field(default_factory=dict)

    def with_own_settings(self, text: str) -> str:
        """Return a text with the host's names of settings in the place of ours."""
        if not self.settings:
            return text
        # The name of one may be the prefix of another's.
        by_length = sorted(self.settings, key=len, reverse=True)
        names = "|".join(map(re.escape, by_length))
        found = bounded(rf"(`?)(?<![\w/.-])({names})(?![\w-])\1")
        return found.sub(lambda each: self.settings[each[2]], text)

    def lines_for(
        self,
        remedy: str,
        host: Mapping[str, object],
        *,
        worker_memory: int | None = None,
        nannies: bool = True,
    ) -> str:
        """Return a remedy's settings as what to paste; empty: this host has no line for them.

        Args:
            remedy: As it is on the card.
            host: What started the run.
            worker_memory: How many bytes each worker should have, if the remedy asks for more.
            nannies: Whether the run's workers had nannies.
        """
        takes = str(host.get("takes", ",".join(self.arguments.values()))).split(",")
        limit = need(worker_memory) if worker_memory else ""
        lines = [
            f"`{argument}={change.as_code()}`"
            for change in changes_in(remedy, memory_limit=limit, nannies=nannies)
            if (argument := self.arguments.get(change.kind, "")) in takes and argument
        ]
        if not lines:
            return ""
        try:
            return self.paste.format(lines=", or ".join(lines[:_MOST_LINES]), **host)
        except KeyError:
            return ""

    def without_lines(self, remedy: str) -> tuple[str, str]:
        """Return a remedy as it is in any host, and what to paste into this one's code.

        Args:
            remedy: As it is on the card, with what `lines_for` returned at its end.
        """
        begins = self.paste.partition("{")[0]
        text, found, lines = remedy.rpartition(f" {begins}") if begins else ("", "", "")
        return (text, f"{begins}{lines}") if found else (remedy, "")

    def time_limit(self, name: str, seconds: float) -> str:
        """Return how the host's code sets a time limit; empty: not known.

        Args:
            name: What the host calls it.
            seconds: At least how much it should be.
        """
        return self.time_limits.get(name, "").format(seconds=ceil(seconds))

    def retries(self, traceback: str, *, of_host: bool = False) -> str:
        """Return what retries the task that raised, as code.

        Args:
            traceback: Of its exception; it may have been lost on the way.
            of_host: The host named that task, so that it is one of the host's own.
        """
        known = of_host or (self.engine and self.engine in traceback)
        if self.task_retries and known:
            return self.task_retries
        return "`client.submit(…, retries=3)` or `dask.annotate(retries=3)`"

    def remedy(self, text: str) -> str | None:
        """Return what to do about an error that only this host raises."""
        return next((do for part, do in self.remedies.items() if part in text), None)


PLAIN = RemedyDialect()
"""Dask's own terms."""


@cache
def dialect_of(kind: str) -> RemedyDialect:
    """Return the dialect of a kind of host, if its package is installed."""
    for point in entry_points(group=GROUP, name=kind) if kind else ():
        with guard(f"the remedies of {kind}"):
            dialect = point.load()
            if isinstance(dialect, RemedyDialect):
                return dialect
    return PLAIN
