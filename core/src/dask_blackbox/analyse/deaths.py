"""Which workers died, and all that is known about each of them.

A worker leaves a cluster for many good reasons: it was retired, restarted on request, or the
cluster closed.  None of these is a death.  What remains is joined from four witnesses
that speak at different times: the scheduler's removal, its events before, the nanny's
certificate after (exit codes land *after* the client has its exception), and the
last samples and lines of the worker itself.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import polars as pl

from dask_blackbox.analyse.nanny_lines import NannyLines
from dask_blackbox.analyse.signals import CRASHES
from dask_blackbox.analyse.words import signal_name, size
from dask_blackbox.run import RunTables

__all__ = ["FULL", "WINDOW", "Death", "deaths_of"]

WINDOW = 5.0
"""Seconds by which witnesses of one death may lie apart, before and after."""

FULL = 0.9
"""Share of its memory limit from which on memory may well be what a worker died of."""

_SLOW = 60.0
"""Seconds that a process may take to accept its nanny's SIGTERM."""

_STOOD = 3.0
_LAST, _CLOSE = 4.0, 1.0
# (Who imports pandas has climbed by 90 MiB.)
_ENOUGH, _TOP, _MUCH = 3, 0.97, 192 * 2**20

_SENT_HOME = (
    "retire-workers-",
    "worker-close-gracefully-",
    "client-restart-",
    "client-restart-workers-",
)
_CLOSED_IN_ORDER = (
    "nanny-close",
    "scheduler-remove-worker",
    "scheduler-close",
    "worker-close",
    "client-restart",
    "nanny-plugin-",
    "idle-timeout",
    "adaptive",
)
_FROZEN = "check-worker-ttl"


@dataclass(frozen=True, kw_only=True)
class Death:
    """A worker process that ended though nobody meant it to.

    Attributes:
        address: Of the worker.
        name: As the cluster calls it.
        pid: Of the process.
        host: That it ran on.
        nthreads: How many tasks it could run at once.
        memory_limit: Bytes; None if it had none.
        at: When the scheduler noticed, epoch seconds.
        exit_code: Negative for a signal; None if nobody saw the exit.
        closing: The reason it or its nanny gave, if any.
        certified: Whether its nanny or its ring testified.
        executing: Keys that were running.
        processing: Keys that the scheduler had given to it.
        lost_scattered: Keys of scattered data that went with it.
        memory: Its last memory samples: (epoch seconds, bytes).
        stack: Python's stack of its threads, if it was written.
        last_lines: Its last log lines.
        oom_kills: How often the kernel killed for memory around then, in that cgroup.
        restarted_for_memory: Memory at which its nanny terminated it, if that is why.
        frozen_for: Seconds without heartbeat after which it was given up, if that is why.
        scheduler_stood_for: Seconds for which the scheduler itself had stood still just
            before it gave it up, if it had.
        with_nanny: Whether its nanny was gone as well: true, false, or None if nobody looked.
        alive: In what state its process was when it was certified, if it had not ended.
    """

    address: str
    at: float
    name: str | None = None
    pid: int | None = None
    host: str | None = None
    nthreads: int | None = None
    memory_limit: int | None = None
    exit_code: int | None = None
    closing: str | None = None
    certified: bool = False
    executing: tuple[str, ...] = ()
    processing: tuple[str, ...] = ()
    lost_scattered: tuple[str, ...] = ()
    memory: tuple[tuple[float, int], ...] = field(default=(), repr=False)
    stack: str = field(default="", repr=False)
    last_lines: tuple[str, ...] = field(default=(), repr=False)
    oom_kills: int = 0
    restarted_for_memory: int | None = None
    frozen_for: float | None = None
    scheduler_stood_for: float | None = None
    with_nanny: bool | None = None
    alive: str = ""

    @property
    def signal(self) -> str | None:
        """The signal that ended it, by name."""
        return signal_name(self.exit_code)

    @property
    def at_work_on(self) -> tuple[str, ...]:
        """What it was executing, or, where that is unknown, what it had been given."""
        return self.executing or self.processing

    @property
    def peak_memory(self) -> int | None:
        """The most memory it was seen with, in bytes."""
        seen = [rss for _, rss in self.memory]
        if self.restarted_for_memory:
            seen.append(self.restarted_for_memory)
        return max(seen, default=None)

    @property
    def climbed_until_it_died(self) -> int | None:
        """By how many bytes its memory had grown in its last seconds; None if it had not.

        What a kernel kills for memory dies at the top of its curve.
        """
        recent = [(at, rss) for at, rss in self.memory if at >= self.at - _LAST]
        if len(recent) < _ENOUGH or self.at - recent[-1][0] > _CLOSE:
            return None
        grown = recent[-1][1] - min(rss for _, rss in recent)
        at_the_top = recent[-1][1] >= _TOP * (self.peak_memory or 0)
        much = grown >= max(_MUCH, recent[-1][1] / 3)
        return grown if at_the_top and much else None

    @property
    def share_of_memory(self) -> float:
        """The most memory that it was seen with, as a share of its limit; 0 if unknown."""
        if not self.peak_memory or not self.memory_limit:
            return 0.0
        return self.peak_memory / self.memory_limit

    @property
    def was_full(self) -> str:
        """How full its memory was at the end, as a clause, if that may be why it ended."""
        grown = self.climbed_until_it_died
        if grown is not None:
            return (
                f"its memory had climbed by {size(grown)} in its last seconds, to "
                f"{size(self.peak_memory or 0)}"
            )
        if self.share_of_memory >= FULL:
            return f"its memory had been at {self.share_of_memory:.0%} of its limit"
        return ""


def deaths_of(run: RunTables) -> tuple[Death, ...]:
    """Return the deaths of a run, by time."""
    witnesses = _Witnesses(run)
    lives = run.workers.with_columns(
        (pl.col("joined").dt.epoch("us") / 1e6).alias("joined"),
        (pl.col("left").dt.epoch("us") / 1e6).alias("left"),
    )
    found = []
    for life in lives.iter_rows(named=True):
        if life["left"] is None and life["certificate"] is None:
            continue
        death = witnesses.death_of(life)
        if _is_unexpected(death, life) and not witnesses.saw_teardown_before(death):
            found.append(death)
    return tuple(sorted(found, key=lambda death: death.at))


def _is_unexpected(death: Death, life: dict[str, Any]) -> bool:
    """Say whether nobody meant this worker to go."""
    # A worker that crashes while it is asked to close has crashed all the same.
    crashed = death.signal in CRASHES and bool(death.executing)
    given_up = death.restarted_for_memory is not None or death.frozen_for is not None
    if crashed or given_up:
        return True
    closing = death.closing or ""
    if closing.startswith(_FROZEN):
        return True
    if life["expected"] or (life["stimulus_id"] or "").startswith(_SENT_HOME):
        return False
    if closing.startswith(_CLOSED_IN_ORDER):
        return False
    if life["asked_to_close"] and not closing:
        return False
    # A removal without any other word is an ordinary end, unless the worker had work in
    # its hands or an exit code that speaks of a death.
    return bool(death.exit_code or closing or death.at_work_on or death.lost_scattered)


class _Witnesses:
    """What the tables say about departures, by worker."""

    def __init__(self, run: RunTables) -> None:
        self._run = run
        self._removals = _by_subject(run.details("worker-removed"))
        self._certificates = _by_subject(run.details("worker-certificate"))
        self._restarts = _by_subject(run.details("worker-restarted-for-memory"))
        self._given_up = run.details("worker-ttl")
        self._nannies_lost = _by_subject(run.details("nanny-lost"))
        self._nannies_there = _by_subject(run.details("nanny-answers"))
        self._nannies = NannyLines(run)
        self._metrics = run.metrics.filter(pl.col("memory").is_not_null())
        self._lines = run.logs.filter(pl.col("role") == "worker")
        lost = [fact["at"].timestamp() for fact in run.details("scheduler-lost")]
        self._scheduler_lost = max(lost, default=None)
        self._teardown = _teardown(run)

    def saw_teardown_before(self, death: Death) -> bool:
        """Say whether this only happened because everything was coming to its end."""
        broken = "connection-broken" in (death.closing or "")
        # Whom the scheduler itself still removed has not left because that was gone.
        if self._scheduler_lost is not None and broken:
            removal = self._near(self._removals, death.address, death.at)
            return removal is None or removal["at"].timestamp() > self._scheduler_lost
        return self._teardown is not None and death.at > self._teardown

    def death_of(self, life: dict[str, Any]) -> Death:
        certificate = json.loads(life["certificate"]) if life["certificate"] else {}
        address, pid = life["address"], life["pid"]
        at = life["left"] if life["left"] is not None else self._certified_at(life)
        removal = self._near(self._removals, address, at) or {}
        closing = certificate.get("close_reason") or life["closing"]
        said = self._nannies.closing_of(life["nanny"], at, WINDOW) or ""
        # A cluster that closes moments after a death has not caused it: the certificate
        # knows whether the nanny had asked.
        after = certificate.get("asked_to_close") is False
        if said.startswith("signal-"):
            closing = said
        elif not (after and said.startswith(_CLOSED_IN_ORDER)):
            closing = closing or said or None
        code = life["exit_code"]
        memory = certificate.get("memory") or self._samples_of(address, life, at)
        return Death(
            address=address,
            at=at,
            name=life["name"],
            pid=pid,
            host=life["host"],
            nthreads=life["nthreads"],
            memory_limit=life["memory_limit"] or None,
            exit_code=self._nannies.exit_of(pid) if code is None else code,
            closing=closing,
            certified=life["certificate"] is not None,
            executing=_keys(certificate.get("executing")),
            processing=_keys(removal.get("processing")),
            lost_scattered=_keys(removal.get("lost_scattered")),
            memory=tuple((float(when), int(rss)) for when, rss in memory),
            stack=str(certificate.get("stack") or ""),
            last_lines=_lines_of(certificate) or self._lines_before(address, pid, at),
            oom_kills=int(certificate.get("oom_kills") or 0),
            restarted_for_memory=self._restarted_at(address, pid, at),
            frozen_for=self._frozen_for(address, at),
            scheduler_stood_for=self._scheduler_stood_before(address, at),
            with_nanny=self._with_nanny(address, at),
            alive=str(certificate.get("alive") or ""),
        )

    def _with_nanny(self, address: str, at: float) -> bool | None:
        if self._near(self._nannies_lost, address, at) is not None:
            return True
        if self._near(self._nannies_there, address, at) is not None:
            return False
        return None

    def _certified_at(self, life: dict[str, Any]) -> float:
        for fact in self._certificates.get(life["address"], ()):
            if fact.get("pid") in (life["pid"], None):
                return float(fact["at"].timestamp())
        return float(life["joined"])

    def _near(
        self, facts: dict[str, list[dict[str, Any]]], address: str, at: float
    ) -> dict[str, Any] | None:
        near = [
            fact
            for fact in facts.get(address, ())
            if abs(fact["at"].timestamp() - at) <= WINDOW
        ]
        return min(near, key=lambda f: abs(f["at"].timestamp() - at), default=None)

    def _restarted_at(self, address: str, pid: int | None, at: float) -> int | None:
        """Return the memory at which the nanny gave it up: its event, else its log line."""
        for fact in self._restarts.get(address, ()):
            same = fact.get("pid") == pid or fact.get("pid") is None or pid is None
            before = (
                -WINDOW <= at - fact["at"].timestamp() <= _SLOW
            )  # slow to accept SIGTERM
            if same and before:
                return int(fact.get("rss") or 0)
        said = self._nannies.over_budget(address, pid)
        return None if said is None or said > at + WINDOW else 0

    def _frozen_for(self, address: str, at: float) -> float | None:
        for fact in self._given_up:
            workers = fact.get("workers") or [fact["subject"]]
            if address in workers and -WINDOW <= at - fact["at"].timestamp() <= _SLOW:
                return float(fact.get("ttl") or 0)
        return None

    def _scheduler_stood_before(self, address: str, at: float) -> float | None:
        """Return for how long the scheduler took no sample, if as long as its patience."""
        patience = self._frozen_for(address, at)
        if patience is None:
            return None
        own = self._run.metrics.filter(pl.col("source") == "scheduler")
        moments = (own["at"].dt.epoch("us") / 1e6).sort().to_list()
        gaps = [
            later - earlier
            for earlier, later in pairwise(moments)
            if earlier < at and later > at - WINDOW
        ]
        longest = max(gaps, default=0.0)
        return longest if longest > max(_STOOD, 0.8 * patience) else None

    def _samples_of(
        self, address: str, life: dict[str, Any], at: float
    ) -> list[tuple[float, int]]:
        own = self._metrics.filter(pl.col("source") == address).select(
            pl.col("at").dt.epoch("us") / 1e6, "memory"
        )
        joined = life["joined"] or 0.0
        own = own.filter(pl.col("at").is_between(joined, at + 1))
        return own.sort("at").tail(60).rows()

    def _lines_before(
        self, address: str, pid: int | None, at: float
    ) -> tuple[str, ...]:
        own = self._lines.filter(
            (pl.col("source") == address)
            & (pl.col("at").dt.epoch("us") / 1e6 <= at + WINDOW)
        )
        if pid is not None:
            own = own.filter((pl.col("pid") == pid) | pl.col("pid").is_null())
        return tuple(own.sort("at").tail(20)["message"].to_list())


def _teardown(run: RunTables) -> float | None:
    """Return when the cluster began to close; deaths from then on are nobody's."""
    moments = [
        fact["at"].timestamp()
        for kind in ("scheduler-closing", "driver-ended")
        for fact in run.details(kind)
    ]
    if run.ending is not None and run.ending.state == "succeeded":
        moments.append(run.ending.ended)
    return min(moments, default=None)


def _by_subject(facts: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    grouped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for fact in facts:
        grouped[fact["subject"]].append(fact)
    return grouped


def _keys(told: Any) -> tuple[str, ...]:
    return tuple(
        str(entry["key"] if isinstance(entry, dict) else entry) for entry in told or ()
    )


def _lines_of(certificate: dict[str, Any]) -> tuple[str, ...]:
    """Return the certificate's log lines; each is a text or a whole `log` row."""
    told = certificate.get("lines") or certificate.get("last_lines") or ()
    return tuple(line if isinstance(line, str) else str(line[7]) for line in told[-20:])
