"""Compares the card of a round of the fuzzer with what really happened."""

from __future__ import annotations

import math
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import dask
import polars as pl
from click.testing import CliRunner
from conditions import until
from dask_blackbox import Run
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.run_state import state_of
from dask_blackbox.capture.nanny.worker_exit import remove_old_rings
from dask_blackbox.cli.ls import ls
from dask_blackbox.cli.show import show
from dask_blackbox.cli.sync import sync
from dask_blackbox.cli.why import why
from dask_blackbox.reader import list_runs
from dask_blackbox.store import open_store
from fuzz_draws import EXTERNAL, OWN_SCHEDULER
from fuzz_roles import Deed, Truth, roles_in
from kill_checks import truth_in

__all__ = ["Judgement", "judged"]

_SAID = re.compile(r"^said (\S+) (\d+)$")
_DRIVERS = ("driver", "runner", "attacher")
_MILD = ("SIGSTOP and SIGCONT",)
_HARMLESS = ("recorder", "store", "spool", "attacher", "network", "clock", "nobody")
_STORE_BEHIND = 10.5  # seconds that a store may lack when a whole machine goes
_CARD = 75.0  # seconds that a driver may wait for its card at the very worst
_SHORTEST, _LONGEST = (
    3.0,
    600.0,
)  # seconds that a round may take, which no clock's jump is
_OF_WORKERS = {
    "SIGKILL": "worker-signalled",
    "SIGTERM": "worker-signalled",
    "SIGINT": "worker-signalled",
    "SIGHUP": "worker-signalled",
    "SIGSEGV": "worker-segfault",
    "SIGABRT": "worker-abort",
    "SIGSTOP": "worker-heartbeat-timeout",
    "SIGSTOP and SIGCONT": "worker-heartbeat-timeout",
}


@dataclass
class Judgement:
    """What is wrong with a round, and what was seen.

    Attributes:
        wrong: Sentences.
        seen: For the table.
        done: Whether something was done; else the moment never came, or nobody was there.
    """

    wrong: list[str] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)
    done: bool = True

    def say(self, sentence: str) -> None:
        """Note something that is wrong."""
        self.wrong.append(sentence)


def judged(truth: Truth) -> Judgement:
    """Compare what happened with what was recorded."""
    found = Judgement()
    if not truth.deeds and truth.round.victim != "nobody":
        found.done = False
    lost = truth.round.victim == "everything" and bool(truth.deeds)
    if not lost:
        _look_at_processes(truth, found)
        _look_at_the_user(truth, found)
    with dask.config.set(
        {
            f"blackbox.store.{name}": value
            for name, value in ({"url": truth.store} | truth.settings).items()
        }
    ):
        if truth.round.victim == "store":
            _bring_home(truth, found)
        runs = list_runs(open_store(truth.store))
        if not runs:
            if _must_be_there(truth):
                found.say("no run in the store")
            return found
        if len(runs) > 1:
            found.say(f"{len(runs)} runs in the store")
        run = Run.at(open_store(truth.store), runs[0].address)
        _look_at_the_run(truth, run, found, lost=lost)
        _look_at_commands(truth, run, found)
    return found


def _remove_rings_of_a_suspended_scheduler(truth: Truth) -> None:
    """Do with rings that are made when a run is over what the next run does a day later."""
    if not any(d.how.startswith("SIGSTOP") for d in truth.done_to("scheduler")):
        return
    for folder in truth.home.temporary.glob("dask-blackbox-*/rings/*"):
        before = time.time() - 2 * 86_400
        for each in (*folder.iterdir(), folder):
            os.utime(each, (before, before))
        remove_old_rings(str(folder.with_name("of the next run")))


def _bring_home(truth: Truth, found: Judgement) -> None:
    """Let the store work again, and upload what it did not take."""
    waits = list(truth.home.temporary.glob("dask-blackbox-*/spool/*/run.json"))
    card = truth.reported.get("card")
    if card is not None and bool(waits) != ("reason" in card["completeness"]):
        found.say(f"{len(waits)} wait in the spool, and {card['completeness']}")
    for spool in truth.home.temporary.glob("dask-blackbox-*/spool"):
        reported = CliRunner().invoke(sync, ["--spool", str(spool)])
        found.seen["sync"] = reported.output
        if reported.exit_code:
            found.say(f"sync ends with {reported.exit_code}: {reported.output}")


# Processes, files, and what the user had of it


def _look_at_processes(truth: Truth, found: Judgement) -> None:
    # Nobody ends what a driver has started that is dead.
    orphans = truth.round.cluster in ("subprocess", "groups") and bool(
        truth.done_to(*_DRIVERS)
    )

    def here() -> list[str]:
        roles = sorted(roles_in(truth.home).values())
        return [role for role in roles if not orphans or role == "recorder"]

    try:
        until(lambda: not here(), "quiet", timeout=60)
    except AssertionError:
        found.say(f"left running: {here()}")
    truth.home.clear()
    _remove_rings_of_a_suspended_scheduler(truth)
    kills = [d for d in truth.done_to("recorder") if d.how not in _MILD]
    disturbed = truth.round.victim in ("spool", "store", "driver's group") or orphans
    if len(kills) < 2 and not disturbed and (left := truth.home.left_over()):
        found.say(f"left on the disk: {left}")
    if truth.round.s3 or truth.round.recorded == "preload":
        return


def _look_at_the_user(truth: Truth, found: Judgement) -> None:
    reported, kind = truth.reported, truth.round
    found.seen["code"], found.seen["raised"] = truth.code, reported.get("raised", "-")
    if kind.victim in _HARMLESS and (truth.code != 0 or reported.get("raised", "-")):
        found.say(f"the run was harmed: {truth.code} {reported.get('said')}")
        found.say(truth.errors[-1500:])
    if truth.code != (expected := _expected_code(truth)):
        found.say(f"exit code {truth.code}, not {expected}")
    over = reported.get("broke") or reported.get("at_over")
    if over is not None and kind.victim != "clock":  # else it is of another clock
        found.seen["end took"] = round(truth.ended - over, 1)
        if truth.ended - over > _CARD:
            found.say(f"the end took {truth.ended - over:.0f} s")
        patient = kind.victim in ("recorder", "store", "scheduler")
        took = reported.get("at_end", over) - over
        if took > 30 and not patient:
            found.say(f"the card took {took:.0f} s")


def _expected_code(truth: Truth) -> int | None:
    reported = truth.reported
    if truth.done_to("runner"):
        return truth.code  # it passes on some signals, ignores some, and dies of others
    hits = [d for d in truth.done_to("driver", "runner") if "CONT" not in d.how]
    if "at_end" in reported and reported["raised"] is None:
        fine = not [d for d in hits if d.at >= reported["at_end"] - 0.5]
        return 0 if fine else truth.code
    if "raised" in reported and reported["raised"] != "KeyboardInterrupt":
        return 1
    if not hits:
        return 0 if reported.get("raised", "-") is None else 1
    last = next((d for d in hits if d.how != "SIGSTOP"), hits[-1])
    number = signal.Signals[last.how.split()[0]]
    return 128 + number if truth.round.recorded == "run" else -number


def _must_be_there(truth: Truth) -> bool:
    """Return whether the recording had begun for certain."""
    first = truth.reported.get("at_first")
    if truth.round.victim == "store" and truth.round.moment == "connected":
        return False
    if first is None:
        return False
    if truth.round.recorded == "preload":
        # It learns of a run from the run's first graph, and then opens the store.
        lines = [at for each in truth_in(truth.home).values() for at, _ in each]
        first = min(lines, default=math.inf) + 3
    return not truth.deeds or truth.deeds[0].at > first + 1


# The recording


def _look_at_the_run(truth: Truth, run: Run, found: Judgement, *, lost: bool) -> None:
    case = Case(run)
    card = run.card()
    state, verdict = card.state, card.verdict
    if lost:
        state = state_of(run, now=truth.deeds[0].at + 75)
    reported = card.completeness
    found.seen["state"] = state
    found.seen["verdict"] = f"{verdict.rule} ({verdict.confidence})" if verdict else "-"
    found.seen["headline"] = card.headline
    found.seen["deaths"] = [
        f"{case.cause_of(d).slug} {d.exit_code} {d.pid}" for d in case.deaths
    ]
    found.seen["missing"] = reported.get("missing", {})
    took = card.numbers["duration"]
    if truth.round.victim == "clock" and not _SHORTEST < took < _LONGEST:
        found.say(f"a duration of {took:.0f} s: of two clocks")
    if state not in (expected := _expected_states(truth)):
        found.say(f"state {state}, not {' or '.join(sorted(expected))}")
    if state in ("failed", "aborted", "lost") and not lost:
        _look_at_the_verdict(truth, verdict, found)
    elif verdict is not None and not lost:
        found.say(f"a verdict on a run that {state}: {verdict.rule}")
    _look_at_deaths(truth, case, found)
    _look_at_lines(truth, run, found, complete=bool(reported["complete"]))
    if (reported.get("reason") or not reported["recorded"]) and truth.round.victim not in (
        "store", "recorder",
    ):  # fmt: skip
        found.say(f"not recorded: {reported}")
    quiet = ["nobody", "worker", "all workers", "network", "clock"]
    quiet += ["driver"] if truth.round.cluster in EXTERNAL else []
    # Of a worker that ended before it had our plugin, nobody knows the last lines.
    first = truth.reported.get("at_first", math.inf)
    early = any(deed.at < first for deed in truth.done_to("worker"))
    # Nor, on a cluster that many runs share, of one that is suspended until the end.
    early |= truth.round.recorded == "preload" and any(
        deed.how == "SIGSTOP" for deed in truth.done_to("worker")
    )
    if not (
        truth.round.victim not in quiet or truth.hung or early or reported["complete"]
    ):
        found.say(f"incomplete: {reported['missing']}")


def _killed(truth: Truth, *roles: str) -> list[Deed]:
    return [d for d in truth.done_to(*roles) if d.how not in (*_MILD, "SIGSTOP")]


def _expected_states(truth: Truth) -> set[str]:  # noqa: PLR0911 - a table
    reported, kind = truth.reported, truth.round
    if kind.victim == "everything" and truth.deeds:
        return {"lost", "succeeded"} if "at_over" in reported else {"lost"}
    if kind.recorded == "record":
        if _killed(truth, "attacher"):
            graceful = truth.deeds[0].how in ("SIGINT", "SIGTERM")
            return {"succeeded"} if graceful else {"aborted"}
        fine = "at_over" in reported and not truth.done_to("scheduler")
        return {"succeeded"} if fine else {"failed", "succeeded"}
    if kind.recorded == "preload":
        if truth.done_to("scheduler", "driver"):
            return {"failed", "aborted", "succeeded", "lost"}
        return (
            {"succeeded"}
            if "at_over" in reported
            else {"failed", "aborted", "succeeded"}
        )
    if _killed(truth, "runner"):  # the command may well go on
        return {"aborted", "succeeded", "failed"}
    hits = _killed(truth, "driver")
    if "at_over" in reported:
        late = [d for d in hits if d.at >= reported["at_over"] - 0.3]
        return {"succeeded", "aborted"} if late else {"succeeded"}
    if reported.get("raised") == "KeyboardInterrupt":
        return {"aborted"}
    if "raised" in reported:
        return {"failed"}
    return {"aborted"}


def _acceptable(truth: Truth) -> set[str]:
    """Return the verdicts that are right, whatever their confidence."""
    right: set[str] = set()
    kind = truth.round
    for deed in truth.deeds:
        how = deed.how
        if deed.role == "worker":
            right.add(_OF_WORKERS[how])
            if kind.cluster in ("no-nanny", "one-process"):
                right |= {"worker-preempted"} if how in ("SIGTERM", "SIGINT") else set()
            if kind.work == "frame":
                right.add("p2p-failed")
        elif deed.role == "nanny" and how != "SIGSTOP":
            asked = how in ("SIGTERM", "SIGINT")
            right.add("worker-preempted" if asked else "worker-host-lost")
            right |= {"p2p-failed"} if kind.work == "frame" else set()
        elif deed.role == "scheduler":
            right.add("scheduler-lost")
        elif deed.role in ("driver", "runner", "attacher"):
            right |= {"driver-killed", "cancelled"}
    return right


_POSSIBLE = {"stalled", "unknown", "driver-exception", "no-valid-worker",
             "workers-never-arrived", "worker-start-failed", "cannot-connect", "cluster-lost-worker",
             "data-lost", "cancelled", "driver-killed"}  # fmt: skip
"""Verdicts that may be given where somebody has waited in vain, if not for certain."""


def _look_at_the_verdict(truth: Truth, verdict: Any, found: Judgement) -> None:
    if verdict is None:
        found.say("no verdict")
        return
    right = _acceptable(truth)
    others = [d for d in truth.deeds if "host" not in d.how]
    blameless = truth.hung and not [d for d in others if d.role in _DRIVERS]
    if verdict.rule == "driver-killed" and blameless and verdict.confidence == "high":
        found.say("WORST: driver-killed with high confidence, of a run that hung")
    if verdict.rule in right:
        return
    if verdict.rule in _POSSIBLE and verdict.confidence != "high":
        return
    worst = "WORST: " if verdict.confidence == "high" else ""
    found.say(f"{worst}verdict {verdict.rule} ({verdict.confidence}), not {right}")


def _closed_for_its_ttl(truth: Truth, death: WorkerExit) -> bool:
    """Return whether a scheduler that was suspended for longer has really closed it."""
    within = () if truth.round.cluster in OWN_SCHEDULER else ("driver",)
    stopped = any("STOP" in deed.how for deed in truth.done_to("scheduler", *within))
    return bool(truth.round.ttl and stopped and death.scheduler_silent_for)


def _look_at_deaths(truth: Truth, case: Case, found: Judgement) -> None:
    kind, reported = truth.round, truth.reported
    known: dict[int | None, WorkerExit] = {death.pid: death for death in case.deaths}
    hit = {deed.pid for deed in truth.done_to("worker", "nanny")}
    joined = dict.fromkeys(case.run.workers["pid"].to_list(), 0.0)
    retired = _moments(case.run.workers.filter(pl.col("expected")), "left")
    nannies = truth.done_to("nanny")
    unsure = {
        pid: death
        for pid, death in known.items()
        if not _closed_for_its_ttl(truth, death)
    }
    for pid, death in unsure.items():
        # (Of a group that has lost one, the cluster object ends the others.)
        if pid not in hit and not nannies and truth.round.cluster != "groups":
            cause = case.cause_of(death)
            found.say(f"a death that was none: {death.name} {pid}: {cause.because}")
    ends = [reported.get(name) for name in ("at_over", "broke")]
    ends += [d.at for d in truth.done_to("driver", "scheduler", "runner", "attacher")]
    end = min((at for at in ends if at is not None), default=truth.ended)
    for deed in _killed(truth, "worker"):
        if deed.how == "SIGINT" and kind.cluster not in ("no-nanny", "one-process"):
            continue
        if (
            "at_first" not in reported
            or deed.at < reported["at_first"]
            or deed.at > end - 1.5
        ):
            continue
        theirs = known.get(deed.pid)
        if (
            not joined.get(deed.pid, math.inf)
            <= deed.at
            < retired.get(deed.pid, math.inf)
        ):
            continue  # it was still coming up, or was closing already
        if theirs is None:
            found.say(f"no death of {deed.pid}, which got {deed.how}")
            continue
        slug = case.cause_of(theirs).slug
        if slug not in _acceptable(truth):
            found.say(f"{deed.pid} got {deed.how} and died of {slug}")
        mild = deed.how in ("SIGTERM", "SIGINT")
        code = -signal.Signals[deed.how]
        if theirs.exit_code != code and not mild and not nannies:
            found.say(f"{deed.pid} got {deed.how} and ended with {theirs.exit_code}")


def _moments(workers: pl.DataFrame, name: str) -> dict[int, float]:
    return {
        each["pid"]: each[name].timestamp() for each in workers.iter_rows(named=True)
    }


# What was said and done


def _look_at_lines(truth: Truth, run: Run, found: Judgement, *, complete: bool) -> None:
    recorded: dict[str, set[int]] = {}
    for message in run.logs["message"].to_list():
        if hit := _SAID.match(message):
            recorded.setdefault(hit[1], set()).add(int(hit[2]))
    until_when, allowed = _recorded_until(truth)
    # Rings of workers that many runs share are read by their nannies alone.
    unread = truth.round.recorded == "preload" and bool(truth.done_to("nanny"))
    if unread:
        allowed = max(allowed, 0.5)
    said = lost = 0
    behind = 0.0
    for who, lines in truth_in(truth.home).items():
        for at, number in lines:
            said += 1
            if at > until_when or number in recorded.get(who, ()):
                continue
            lost += 1
            end = (
                lines[-1][0] if unread else until_when
            )  # such a worker ended long before
            behind = max(behind, min(end, until_when) - at)
    found.seen["said"], found.seen["lost"] = said, lost
    found.seen["behind"] = round(behind, 2)
    if behind > allowed and lost > _dropped(found, "log line"):
        found.say(f"{lost} of {said} lines lost, the first {behind:.1f} s before")
    if lost and complete:
        found.say(f"{lost} lines are lost, and the card says that it is complete")
    _look_at_tasks(truth, run, found, until_when - allowed - 1.0)


def _dropped(found: Judgement, what: str) -> int:
    """Return how many rows the card says were deleted before the store had them."""
    reported = str(found.seen["missing"].get("spool", ""))
    counts = re.findall(rf"([\d,]+) {what}s? (?:dropped|lost)", reported)
    return sum(int(count.replace(",", "")) for count in counts)


def _look_at_tasks(truth: Truth, run: Run, found: Judgement, until_when: float) -> None:
    keys = set(run.tasks["key"].to_list())
    gone = [key for at, key in _done(truth) if at < until_when and key not in keys]
    hit_pids = truth.done_to("worker", "nanny")
    if len(gone) > 2 * len(hit_pids) + _dropped(found, "task row"):
        found.say(f"{len(gone)} finished tasks are not recorded: {gone[:3]}")


def _recorded_until(truth: Truth) -> tuple[float, float]:
    """Return until when lines must be kept, and how far behind that is allowed."""
    reported, kind = truth.reported, truth.round
    if kind.victim == "clock":  # what the driver says is of another one
        return truth.ended, 0.0
    moments = [(reported[n], 0.0) for n in ("at_over", "broke") if n in reported]
    inside = kind.cluster not in EXTERNAL
    if kind.victim == "everything":
        # What the store does not have by then is gone, also of work that had ended before.
        killed = min((deed.at for deed in truth.deeds), default=truth.ended)
        until_when = min([killed, *(at for at, _ in moments)])
        return until_when, max(_STORE_BEHIND - (killed - until_when), 0.0)
    for deed in truth.deeds:
        if deed.role == "scheduler":
            moments.append((deed.at, 1.5))
        elif deed.role in ("driver", "runner", "attacher"):
            fatal = deed.how not in _MILD
            own = inside and kind.cluster not in OWN_SCHEDULER
            if fatal or own:
                moments.append((deed.at, 1.5))
    return min(moments, default=(truth.ended, 0.0))


def _done(truth: Truth) -> Iterator[tuple[float, str]]:
    path = truth.home.folder / "done"
    for line in path.read_text().splitlines() if path.exists() else ():
        at, _, key = line.partition("\t")
        if key:
            yield float(at), key


def _look_at_commands(truth: Truth, run: Run, found: Judgement) -> None:
    name = f"{run.manifest.job}/{run.manifest.run_id}"
    for command, words in ((ls, ["--json"]), (show, [name]), (why, [name])):
        reported = CliRunner().invoke(command, [*words, "--store", truth.store])
        if reported.exit_code:
            problem = repr(reported.exception)
            found.say(f"{command.name} ends with {reported.exit_code}: {problem}")
            found.say(reported.output[-500:])
