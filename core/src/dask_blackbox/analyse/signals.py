"""What a signal suggests about its sender, and what to do then.

SIGKILL and SIGTERM may come from anybody.  Most of the others have one sender: the kernel at
a limit, a timer of the process's own, a terminal that was closed, a batch system that warns.
"""

from __future__ import annotations

from dataclasses import dataclass

from dask_blackbox.finding import RetryAdvice
from dask_blackbox.formatting import signal_name

BY_SIGNAL = "signal-"
"""How the reason begins for which a process of Dask's closes when it gets a signal."""

NATIVE = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP")
"""What the processor, or a compiler's trap, makes of a fault in native code."""

CRASHES = (*NATIVE, "SIGABRT")
"""What a process dies of by itself, whoever else asks it to go."""


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Where a signal comes from.

    Attributes:
        how: Completes “A worker received SIGXCPU …”.
        because: Completes “it …”.
        remedy: What to do where it ended a worker.
        for_driver: What to do where it ended the driver; empty: the same.
        retry_advice: Whether trying again helps.
    """

    how: str
    because: str
    remedy: str
    retry_advice: RetryAdvice
    for_driver: str = ""


_WARNS = (
    "Batch systems send it as a warning before they end a job (Slurm's `--signal`, "
    "Grid Engine's `-notify`), and scripts send it to rotate logs. Find the sender, "
)
_BATCH = Sender(
    how="from outside Dask",
    because="was sent {name}, which ends a process that has no handler for it",
    remedy=f"{_WARNS}and have it signal the job's script instead of its workers.",
    for_driver=f"{_WARNS}or have the driver handle the signal (`signal.signal`).",
    retry_advice="unknown",
)

_SENDERS = {
    "SIGXCPU": Sender(
        how="at the limit of CPU time",
        because="reached the limit of CPU time per process ({name})",
        remedy=(
            "Raise the limit where workers are started (`ulimit -t unlimited`, "
            "`LimitCPU=`, `/etc/security/limits.conf`); login nodes set it, so run "
            "workers as jobs of the batch system. The limit applies to each process: a "
            "retry fails again unless tasks become shorter and workers are replaced in "
            "between."
        ),
        for_driver=(
            "Raise the limit where the driver is started (`ulimit -t unlimited`, "
            "`LimitCPU=`, `/etc/security/limits.conf`, the script's own `setrlimit`); "
            "login nodes set it, so run the driver as a job of the batch system. Or "
            "move the driver's own computation to the workers. A retry reaches the "
            "same limit."
        ),
        retry_advice="environment",
    ),
    "SIGXFSZ": Sender(
        how="at the limit of a file's size",
        because="wrote a file larger than the process's limit ({name})",
        remedy=(
            "Raise the limit where workers are started (`ulimit -f unlimited`, "
            "`LimitFSIZE=`), or write smaller files."
        ),
        for_driver=(
            "Raise the limit where the driver is started (`ulimit -f unlimited`, "
            "`LimitFSIZE=`), or write smaller files."
        ),
        retry_advice="environment",
    ),
    "SIGALRM": Sender(
        how="from a timer set in the process itself",
        because="was ended by a timer set in its own code ({name})",
        remedy=(
            "Look for `signal.alarm` and `signal.setitimer`, which timeout decorators "
            "use. Tasks run in threads, where Python cannot set a signal handler. Use "
            "`future.result(timeout=…)` in the driver, or a timeout of the library "
            "itself."
        ),
        for_driver=(
            "Look for `signal.alarm` and `signal.setitimer` in the driver's own code "
            "and its libraries, which timeout decorators use. The time was up, and "
            "nothing handled the signal. Set a longer time, or handle SIGALRM "
            "(`signal.signal`)."
        ),
        retry_advice="code",
    ),
    "SIGHUP": Sender(
        how="because a terminal or session was closed",
        because="received {name} because its terminal or session closed",
        remedy=(
            "Start workers so that they outlive the session: as a service or a batch job, "
            "under `nohup`, `setsid` or `tmux`."
        ),
        for_driver=(
            "Start the driver so that it outlives the session: as a service or a batch job, "
            "under `nohup`, `setsid` or `tmux`."
        ),
        retry_advice="environment",
    ),
    "SIGSYS": Sender(
        how="for a forbidden system call",
        because="made a system call that its container or sandbox forbids ({name})",
        remedy=(
            "Find which one (`dmesg`, the audit log), and allow it in the seccomp "
            "profile of the container, or use another version of the library that "
            "makes it."
        ),
        retry_advice="environment",
    ),
    "SIGUSR1": _BATCH,
    "SIGUSR2": _BATCH,
}


def signal_in(reason: str | None) -> str | None:
    """Return the name of the signal for which a process of Dask's said that it closes."""
    number = (reason or "").removeprefix(BY_SIGNAL)
    if not number.isdecimal() or number == reason:
        return None
    return signal_name(-int(number))


def sender_of(name: str | None) -> Sender | None:
    """Return where a signal comes from, if its name says so."""
    return _SENDERS.get(name or "")
