"""Did somebody outside Dask signal the workers?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.signals import sender_of
from dask_blackbox.analyse.words import size
from dask_blackbox.finding import Finding

__all__ = ["WORKER_SIGNALLED"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_SIGNALLED.slug)
    if not deaths:
        return
    last = deaths[-1]
    same = case.blame.always and len(deaths) > 1
    hint = (
        "The same task was running each time, so its own code (or a program that it "
        "starts) may send the signal: look for os.kill, killpg and timeouts in it."
        if same
        else "Ask what ends processes on that host: a job scheduler's limit, a spot "
        "notice, a colleague, an earlyoom daemon."
    )
    if last.was_full:
        hint = (
            "See the log of such a daemon (`journalctl -u earlyoom -u systemd-oomd`), and "
            "how full the host was; with a lower `memory_limit` Dask spills before."
        )
    sender = sender_of(last.signal)
    if sender is not None:
        yield from verdict_on_deaths(
            case,
            WORKER_SIGNALLED,
            deaths,
            did=f"got {last.signal}",
            how=sender.how,
            remedy=sender.remedy,
            retry_advice=sender.retry_advice,
        )
        return
    yield from verdict_on_deaths(
        case,
        WORKER_SIGNALLED,
        deaths,
        did=f"got {last.signal}",
        how="from outside Dask",
        more=_memory(last),
        remedy=f"{hint} If it was a passing event, trying again is enough.",
        retry_advice="memory" if last.was_full else "unknown" if same else "transient",
    )


def _memory(last: Death) -> str:
    """Return a sentence on whether memory may have been why, or nothing."""
    if last.was_full:
        return (
            f"{last.was_full[0].upper()}{last.was_full[1:]}: a daemon that watches the memory "
            "of the host (earlyoom, systemd-oomd) may have ended it, though nothing says so."
        )
    if not last.peak_memory or not last.memory_limit:
        return ""
    return (
        f"Nothing points to memory: it was seen with {size(last.peak_memory)} of "
        f"{size(last.memory_limit)} at most, and neither its nanny nor the kernel's counter "
        "speaks of it."
    )


WORKER_SIGNALLED = Rule(
    slug="worker-signalled",
    title="Workers were signalled from outside Dask",
    question="Did the run fail because something outside Dask signalled workers?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "A worker's process was ended by a signal (SIGKILL, SIGTERM, …) that Dask did "
            "not send."
        ),
        evidence=(
            "The exit signal that the nanny saw, and what is absent: no memory-limit event, "
            "no rise of the kernel's out-of-memory counter, no missed heartbeats, no "
            "request to close. Signals of one sender only (SIGXCPU, SIGALRM, SIGHUP, …) are "
            "told with their sender; medium confidence where memory was climbing. Silent "
            "where any of these explains the signal."
        ),
        remedy=(
            "Find who sends it: a batch system, a node's memory daemon, a script, or the "
            "task itself."
        ),
        before="subprocess.run(['pkill', '-f', 'python'])   # in a task",
        after="process.terminate()   # only what the task started itself",
    ),
)
