"""The host's names in the place of Dask's keys: a reader knows the one, not the other."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from dask_blackbox.events import TaskNamed
from dask_blackbox.finding import ChainStep, Finding
from dask_blackbox.formatting import short
from dask_blackbox.run_tables import RunTables

_KEY = re.compile(r"[\w.<>\[\]-]+-[0-9a-f]{3,32}(…?)")


_LONGEST = 80


class HostNames:
    """Puts the names of a run's host into what is written of it."""

    def __init__(self, run: RunTables) -> None:
        # On one line and cut: users may choose them freely.
        self._names: Mapping[str, str] = {
            each.subject: short(each.name, _LONGEST)
            for each in run.of(TaskNamed)
            if each.name
        }

    def in_text(self, text: str) -> str:
        """Return a text with the names of tasks instead of their keys, cut ones included."""
        return _KEY.sub(self._name, text) if self._names else text

    def in_finding(self, finding: Finding) -> Finding:
        """Return a finding with the names of tasks in all of its texts."""
        if not self._names:
            return finding
        return msgspec.structs.replace(
            finding,
            title=self.in_text(finding.title),
            cause=self.in_text(finding.cause),
            remedy=self.in_text(finding.remedy),
            evidence=tuple(
                msgspec.structs.replace(each, text=self.in_text(each.text))
                for each in finding.evidence
            ),
        )

    def in_step(self, step: ChainStep) -> ChainStep:
        """Return a step of a chain with the names of tasks."""
        return msgspec.structs.replace(step, text=self.in_text(step.text))

    def _name(self, found: re.Match[str]) -> str:
        text = found[0]
        if not found[1]:
            return self._names.get(text, text)
        begin = text.removesuffix("…")
        names = {name for key, name in self._names.items() if key.startswith(begin)}
        return names.pop() if len(names) == 1 else text
