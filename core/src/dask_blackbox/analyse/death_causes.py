"""What a worker died of, as far as the witnesses prove it.

The order matters: the same signal 15 comes from the memory limit, a frozen process and
a stranger, and only the witness before it tells which.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.deaths import FULL, WINDOW, Death
from dask_blackbox.analyse.nanny_lines import NannyLines
from dask_blackbox.analyse.pythons import pythons_apart
from dask_blackbox.analyse.signals import CRASHES, NATIVE, sender_of
from dask_blackbox.analyse.words import duration, short, size
from dask_blackbox.finding import Confidence
from dask_blackbox.run import RunTables

__all__ = ["DESERIALIZE", "CauseOfDeath", "cause_of_death"]

DESERIALIZE = re.compile(
    r"Failed to deserialize|Error during deserialization|"
    r"(?:ModuleNotFoundError|ImportError|AttributeError: Can't get attribute)"
)
# Dask's own words, not a task's: what a task could not allocate need not end its worker.
_NO_MEMORY = re.compile(
    r"\A(?:Unable to allocate internal buffer"
    r"|(?:Unexpected exception during heartbeat|Failed to Serialize|Error in batched write)"
    r"(?s:.*)\bMemoryError\b)"
)


@dataclass(frozen=True, kw_only=True)
class CauseOfDeath:
    """What a worker died of.

    Attributes:
        slug: The rule that explains such deaths; `unknown` if nothing is proven.
        confidence: How sure.
        because: The evidence, as a clause ("it …").
    """

    slug: str
    confidence: Confidence
    because: str


def cause_of_death(death: Death, run: RunTables) -> CauseOfDeath:
    """Return what a worker died of."""
    return (
        _of_its_nanny(death)
        or _of_its_host(death)
        or _of_its_environment(death, run)
        or _of_another_python(death, run)
        or _of_a_signal(death)
        or _of_want_of_memory(death)
        or _of_an_exit(death)
        or _of_nobody(death, run)
    )


def _of_its_nanny(death: Death) -> CauseOfDeath | None:
    if death.restarted_for_memory is not None:
        seen = death.restarted_for_memory or death.peak_memory
        at = f" at {size(seen)}" if seen else ""
        limit = f" of {size(death.memory_limit)}" if death.memory_limit else ""
        because = f"its nanny terminated it{at}, over 95 % of its memory limit{limit}"
        return CauseOfDeath(
            slug="worker-memory-limit", confidence="high", because=because
        )
    closing = death.closing or ""
    if death.frozen_for is not None or closing.startswith("check-worker-ttl"):
        if death.scheduler_stood_for:
            because = (
                "it was given up for its silence when the scheduler itself had stood still "
                f"for {duration(death.scheduler_stood_for)}"
            )
            return CauseOfDeath(slug="unknown", confidence="low", because=because)
        waited = f" for {duration(death.frozen_for)}" if death.frozen_for else ""
        because = f"it sent no heartbeat{waited}, and was given up"
        if death.alive:
            because += f"; its process was {death.alive} even then"
        return CauseOfDeath(
            slug="worker-heartbeat-timeout", confidence="high", because=because
        )
    return None


def _of_its_host(death: Death) -> CauseOfDeath | None:
    closing = death.closing or ""
    if closing.startswith("signal-"):
        because = f"`dask worker` was told to stop ({closing})"
        return CauseOfDeath(slug="worker-preempted", confidence="high", because=because)
    if closing.startswith("worker-lifetime"):
        because = "its --lifetime was over, and its work could not be handed on"
        return CauseOfDeath(slug="worker-lifetime", confidence="high", because=because)
    return None


def _of_its_environment(death: Death, run: RunTables) -> CauseOfDeath | None:
    """Such workers leave with exit code 0, the connection to the scheduler broken."""
    broken = "connection-broken" in (death.closing or "")
    if death.exit_code not in (0, None) or (death.closing and not broken):
        return None
    lines = [line for line in death.last_lines if DESERIALIZE.search(line)]
    if not lines and broken:
        lines = _lines_near(run, death.at)
    if not lines and broken:
        because = (
            "it broke its connection to the scheduler by itself, as workers do that cannot "
            "read what they are sent"
        )
        return CauseOfDeath(
            slug="environment-mismatch", confidence="medium", because=because
        )
    if not lines:
        return None
    said = next((x for x in lines if "NotFoundError" in x), lines[-1])
    wanted = [x for x in said.splitlines() if re.match(r"[\w.]*Error", x)]
    because = (
        f"it could not read what it was sent: {short(wanted[-1] if wanted else said)}"
    )
    deserialize = any("deserializ" in line for line in lines)
    if not deserialize and not broken:  # the import of a task: that is a task's error
        return None
    return CauseOfDeath(
        slug="environment-mismatch",
        confidence="high" if broken or len(lines) > 1 else "medium",
        because=because,
    )


def _lines_near(run: RunTables, at: float) -> list[str]:
    moment = pl.col("at").dt.epoch("us") / 1e6
    near = run.logs.filter(
        moment.is_between(at - WINDOW, at + WINDOW)
        & pl.col("role").is_in(["worker", "nanny"])
        & pl.col("message").str.contains(DESERIALIZE.pattern)
    )
    return near["message"].head(20).to_list()


def _of_another_python(death: Death, run: RunTables) -> CauseOfDeath | None:
    """Functions travel as bytecode, and what another Python makes of that is chance."""
    if death.signal not in CRASHES:
        return None
    apart = pythons_apart(run, death.address)
    if apart is None:
        return None
    ours, theirs = apart
    because = (
        f"its process crashed ({death.signal}) in Python {theirs}, and the driver has "
        f"{ours}: functions of the driver's own travel as bytecode, which another minor "
        "version cannot run"
    )
    return CauseOfDeath(
        slug="environment-mismatch", confidence="medium", because=because
    )


def _of_a_signal(death: Death) -> CauseOfDeath | None:
    name = death.signal
    if name is None:
        return None
    share = death.share_of_memory
    sure: Confidence = "high"
    if name in NATIVE:
        slug, because = (
            "worker-segfault",
            f"its process crashed in native code ({name})",
        )
    elif name == "SIGABRT":
        slug, because = "worker-abort", "its process aborted itself (SIGABRT)"
    elif name == "SIGKILL" and death.oom_kills:
        slug = "kernel-oom"
        because = "the kernel's out-of-memory killer took it (its counter went up)"
    elif name == "SIGKILL" and share >= FULL:
        slug, sure = "kernel-oom", "medium"
        because = f"it was killed (SIGKILL) at {share:.0%} of its memory limit"
    elif name == "SIGKILL" and death.climbed_until_it_died:
        slug, sure = "kernel-oom", "medium"
        because = (
            f"it was killed (SIGKILL) while its memory climbed, by "
            f"{size(death.climbed_until_it_died)} in its last seconds to "
            f"{size(death.peak_memory or 0)}: probably by the kernel, for a container's "
            "limit or for a machine that was full, though no counter that we see says so"
        )
    elif name == "SIGTERM" and share >= FULL:
        slug, sure = "worker-memory-limit", "medium"
        because = f"it was terminated (SIGTERM) at {share:.0%} of its memory limit"
    else:
        slug, sender = "worker-signalled", sender_of(name)
        because = (
            f"it {sender.because.format(name=name)}"
            if sender
            else f"something outside Dask sent its process {name}"
        )
        sure = "medium" if death.was_full and not sender else "high"
    return CauseOfDeath(slug=slug, confidence=sure, because=because)


def _of_want_of_memory(death: Death) -> CauseOfDeath | None:
    """A process that may not grow (`ulimit -v`) cannot even send its heartbeats."""
    if death.exit_code not in (0, 1, None):
        return None
    if not any(_NO_MEMORY.match(line) for line in death.last_lines):
        return None
    return CauseOfDeath(
        slug="task-memory-error",
        confidence="medium",
        because=(
            "its process could allocate no more memory, not even for a heartbeat "
            "(MemoryError), and so it closed itself"
        ),
    )


def _of_an_exit(death: Death) -> CauseOfDeath | None:
    if death.exit_code is None:
        return None
    if death.closing:
        because = (
            f"it closed itself ({short(death.closing, 80)}) "
            f"and exited with code {death.exit_code}"
        )
        return CauseOfDeath(slug="unknown", confidence="low", because=because)
    because = f"its process exited with code {death.exit_code}"
    sure: Confidence = "high" if death.executing else "medium"
    return CauseOfDeath(slug="worker-exit", confidence=sure, because=because)


def _of_nobody(death: Death, run: RunTables) -> CauseOfDeath:
    """Nobody testified: is that because its nanny went with it?"""
    life = run.workers.filter(
        (pl.col("address") == death.address) & pl.col("nanny").is_not_null()
    )
    nanny = life["nanny"].to_list()[-1] if len(life) else None
    if death.with_nanny:
        return CauseOfDeath(
            slug="worker-host-lost",
            confidence="high",
            because="its nanny vanished together with it: nobody answers at its address"
            + _and(death.was_full),
        )
    if death.closing:
        because = f"it closed itself ({short(death.closing, 80)})"
    elif not nanny and death.was_full:
        because = (
            f"it vanished, and had no nanny to see how; {death.was_full}: it was probably "
            "killed by the kernel, for a container's limit or for a machine that was full"
        )
        return CauseOfDeath(slug="kernel-oom", confidence="medium", because=because)
    elif not nanny:
        because = "it had no nanny to see how it ended"
    elif death.with_nanny is False or _heard_after(run, nanny, death.at):
        because = "its nanny lived on, but its exit code was not recorded"
    elif _recorded_until(run) < death.at + WINDOW:
        because = "the recording ended before its nanny could say how it ended"
    else:
        return CauseOfDeath(
            slug="worker-host-lost",
            confidence="medium",
            because="its nanny vanished together with it, without a word"
            + _and(death.was_full),
        )
    return CauseOfDeath(slug="unknown", confidence="low", because=because)


def _and(clause: str) -> str:
    return f"; {clause}" if clause else ""


def _heard_after(run: RunTables, nanny: str, at: float) -> bool:
    others = run.workers.filter(
        (pl.col("nanny") == nanny) & (pl.col("joined").dt.epoch("us") / 1e6 > at)
    )
    return len(others) > 0 or NannyLines(run).heard_after(nanny, at)


def _recorded_until(run: RunTables) -> float:
    latest = [
        frame["at"].max() for frame in (run.events, run.metrics, run.logs) if len(frame)
    ]
    moments = [moment.timestamp() for moment in latest if moment is not None]  # type: ignore[union-attr]
    return max(moments, default=0.0)
