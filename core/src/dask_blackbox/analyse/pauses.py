"""Pauses of processes, as evidence of findings that are about time or silence."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.events import ProcessPaused
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.formatting import counted, duration, listed

_ABOUT_SILENCE = frozenset(
    ("cluster-lost-worker", "scheduler-lost", "worker-heartbeat-timeout", "worker-host-lost")
)  # fmt: skip
_ABOUT_TIME = frozenset(
    ("driver-bound", "event-loop-blocked", "io-bound", "network-bound", "slower-than-usual",
     "stalled", "stopped-by-host", "straggler", "workers-idle")
)  # fmt: skip
_OF_DRIVER = "driver-bound"
_DRIVER, _RECORDER = "driver", "recorder"
_SHARE = 0.02
"""Of the run's time: shorter pauses explain none of it."""
_MOST, _SHOWN = 10_000, 3


def with_pauses(case: Case, finding: Finding) -> Finding:
    """Return a finding that names the pauses of processes which explain it, if there are any.

    A process that is stopped does nothing and reports nothing, and works on later as if nothing
    had been: what follows from it looks like slow work, or like a lost connection.
    """
    if finding.rule not in _ABOUT_SILENCE | _ABOUT_TIME:
        return finding
    pauses = [*_explaining(case, finding)]
    if not pauses:
        return finding
    longest = sorted(pauses, key=lambda each: -each.seconds)[:_SHOWN]
    evidence = tuple(
        Evidence(
            text=f"{_name(each)} was stopped for {duration(each.seconds)}",
            source="events",
            at=each.at - each.seconds,
        )
        for each in longest
    )
    whole = duration(sum(each.seconds for each in pauses))
    names = listed([*dict.fromkeys(map(_name, longest))])
    times = "" if len(pauses) == 1 else f", {counted(len(pauses), 'time')} in all"
    sentence = (
        f"{names[:1].upper()}{names[1:]} did not run for {whole}{times} (SIGSTOP, a "
        "debugger, or a container that was frozen)."
    )
    return msgspec.structs.replace(
        finding,
        cause=f"{finding.cause} {sentence}",
        evidence=(*finding.evidence, *evidence),
    )


def _explaining(case: Case, finding: Finding) -> Iterator[ProcessPaused]:
    worker = finding.subject.worker
    lasted = last_sign_of_life(case.run) - case.run.manifest.started
    least = 0.0 if worker or finding.rule in _ABOUT_SILENCE else _SHARE * lasted
    for pause in case.run.of(ProcessPaused)[:_MOST]:
        whose = _DRIVER if finding.rule == _OF_DRIVER else worker
        if pause.subject == _RECORDER or whose not in (None, pause.subject):
            continue
        if pause.seconds >= least:
            yield pause


def _name(pause: ProcessPaused) -> str:
    return "the driver" if pause.subject == _DRIVER else f"worker {pause.subject}"
