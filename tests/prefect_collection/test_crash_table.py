"""The rest of the crash table: interrupts, lost schedulers, Dask's retries, graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.nightly

STORIES = ("interrupted", "schedulerless", "tried_again", "unsendable", "unreadable")

Tell = Callable[[str], Path]


def states(seen: Any) -> list[str]:
    return sorted(task.state for task in seen.all_tasks)


def test_show(told: Tell, prefect: Any) -> None:
    for story in STORIES:
        seen = prefect.newest(story.replace("_", "-"), told(story))
        print(
            "=====",
            story,
            seen.state,
            seen.state_name,
            repr(seen.message),
            states(seen),
            seen.all_tasks,
            seen.card.headline,
            seen.card.verdict and seen.card.verdict.rule,
            seen.card.findings and [f.rule for f in seen.card.findings],
        )
    raise SystemExit
