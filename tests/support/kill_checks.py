"""What the recording of a killed run must hold, compared with what really happened.

What was said for certain before a death stands in files that the tasks write themselves.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from conditions import until
from dask_blackbox import Run
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.run_state import state_of
from dask_blackbox.reader import list_runs
from scenario_runs import Home

__all__ = [
    "Row",
    "Seen",
    "leaves_orphans",
    "look",
    "look_at_what_is_left",
    "reported_in",
    "truth_in",
]

_SAID = re.compile(r"^said (\S+) (\d+)$")


@dataclass(frozen=True)
class Row:
    """One line of the matrix: who ends, how, on which cluster; and what must be seen.

    Attributes:
        what: Who is killed; `nobody` for what ends well.
        how: By what: a signal, the ending of a task, or something that Dask does.
        cluster: How the cluster was started.
        state: Of the run, at its end.
        verdict: Slug; None for a run that needs none.
        cause: Slug of what the victim died of; None if nobody died.
        code: The exit code on the exit report; None: nobody can know; `any`: it depends.
        has_report: Whether somebody testifies to the death.
        stack: A function that Python's stack on the exit report names.
        words: Something that the verdict says.
    """

    what: str
    how: str
    cluster: str
    state: str
    verdict: str | None = None
    cause: str | None = None
    code: int | str | None = None
    has_report: bool = True
    stack: str | None = None
    words: str = ""

    def __str__(self) -> str:
        return f"{self.what} · {self.how} · {self.cluster}"


@dataclass
class Seen:
    """What was seen of a row.

    Attributes:
        wrong: Sentences on what is not as it must be.
        facts: The columns, for people.
    """

    wrong: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def expect(self, name: str, seen: Any, expected: Any) -> None:
        """Note a fact, and whether it is what it must be."""
        self.facts[name] = seen
        if seen != expected:
            self.wrong.append(f"{name}: {seen!r}, not {expected!r}")


def reported_in(home: Home) -> dict[str, Any]:
    try:
        reported: dict[str, Any] = json.loads(
            (home.folder / "reported.json").read_text()
        )
    except (OSError, ValueError):
        return {}
    return reported


def truth_in(home: Home) -> dict[str, list[tuple[float, int]]]:
    """Return what was said for certain: (when, number), by who said it."""
    found = {}
    for path in (home.folder / "truth").glob("*"):
        lines = [line.split() for line in path.read_text().splitlines()]
        if lines:
            found[path.name] = [(float(at), int(number)) for at, number in lines]
    return found


def look(
    row: Row, home: Home, reported: dict[str, Any], moment: float, within: float
) -> Seen:
    run = Run.open(reported["links"]["recording"])
    seen = Seen()
    if row.what == "everything":
        _look_at_a_lost(run, seen, moment)
        if within < 1:  # who has no time to wait for it has seen what counts
            return seen
        until(lambda: run.state == "lost", "a stale heartbeat", timeout=90)
    case = Case(run)
    card = run.card()
    seen.expect("state", card.state, row.state)
    verdict = card.verdict
    seen.expect("verdict", verdict.rule if verdict else None, row.verdict)
    seen.facts["headline"] = card.headline
    if row.words:
        said = f"{verdict.title} {verdict.cause}" if verdict else card.headline
        seen.expect(f"says {row.words!r}", row.words in said, expected=True)
        seen.facts["said"] = said
    deaths = [f"{case.cause_of(d).slug} {d.exit_code}" for d in case.deaths]
    seen.facts["deaths"] = deaths
    _look_at_lines(row, home, run, seen, moment)
    if row.cause is None:
        seen.expect("deaths", deaths, [])
    elif not case.deaths:
        seen.expect("deaths", deaths, [row.cause])
    else:
        _look_at_the_death(row, home, case, case.deaths[0], seen)
    return seen


def _look_at_the_death(
    row: Row, home: Home, case: Case, death: WorkerExit, seen: Seen
) -> None:
    cause = case.cause_of(death)
    seen.expect("cause", cause.slug, row.cause)
    seen.facts["because"] = cause.because
    seen.expect("has_report", death.has_report, row.has_report)
    code = death.exit_code if row.code == "any" else row.code
    seen.expect("code", death.exit_code, code)
    key = "chatter"
    seen.expect("executing", any(key in k for k in death.running_on), expected=True)
    if row.has_report:
        running_tasks = row.how != "unreadable"  # then it has not even begun
        seen.expect("executing for sure", bool(death.executing), running_tasks)
        seen.expect("memory", len(death.memory) > 1, expected=True)
        seen.expect("last words", bool(death.last_lines), expected=True)
    if row.stack:
        seen.expect(
            f"stack in {row.stack}", f"in {row.stack}" in death.stack, expected=True
        )


def _look_at_lines(row: Row, home: Home, run: Run, seen: Seen, moment: float) -> None:
    """Compare what was said with what was recorded, by who said it."""
    recorded: dict[str, set[int]] = {}
    for message in run.logs["message"].to_list():
        if found := _SAID.match(message):
            recorded.setdefault(found[1], set()).add(int(found[2]))
    lost, behind = 0, 0.0
    lives = run.workers.iter_rows(named=True)
    dead = {str(life["pid"]) for life in lives if life["exit_code"] is not None}
    over = reported_in(home).get("over", moment)
    at_once = row.what in ("scheduler", "everything", "driver", "driver's group")
    if at_once:
        over = min(over, moment)
    for who, lines in truth_in(home).items():
        gone = [(at, n) for at, n in lines if n not in recorded.get(who, set())]
        if who.partition("-")[0] in dead and not at_once:
            lost += len(gone)
            continue
        # What was said after the end of what records is nobody's to keep.
        gone = [(at, n) for at, n in gone if at <= over]
        if gone and at_once:
            behind = max(behind, moment - gone[0][0])
        else:
            lost += len(gone)
    seen.facts["behind"] = round(behind, 2)
    limit = 10.0 if row.what == "everything" else 1.5
    if behind > limit:
        seen.wrong.append(f"the recording is {behind:.1f} s behind")
    seen.expect("lines lost", lost, 0)


def _look_at_a_lost(run: Run, seen: Seen, moment: float) -> None:
    beaten = run.last_heartbeat or 0.0
    seen.expect("state at once", run.state, "running")
    seen.expect("lost in a minute", state_of(run, now=moment + 75), "lost")
    seen.facts["heartbeat behind"] = round(moment - beaten, 1)
    listed = list_runs(run.store)
    seen.expect("listed", len(listed), 1)
    run.clock_ahead -= 75  # as it is read in a minute
    seen.expect("complete", run.completeness["complete"], expected=False)


def leaves_orphans(row: Row) -> bool:
    """Return whether processes of Dask's live on: nobody ends what a dead driver started."""
    killed = row.what.startswith("driver") and row.how.startswith("SIG")
    return killed and row.cluster == "SubprocessCluster"


def look_at_what_is_left(row: Row, home: Home, seen: Seen) -> None:
    def left() -> list[str]:
        lines = sorted(home.processes().values())
        return [line for line in lines if "blackbox" in line or not leaves_orphans(row)]

    with contextlib.suppress(AssertionError):
        until(lambda: not left(), "quiet", timeout=20)
    seen.expect("processes left", left(), [])
    home.clear()
    if row.what != "everything" and not leaves_orphans(row):
        seen.expect("files left", home.left_over(), [])
