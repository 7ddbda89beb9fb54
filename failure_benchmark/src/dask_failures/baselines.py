"""The two baselines: what is known without any tool.

`last-exception`: the last exception of the driver, which is what Dask itself prints.
`last-lines`: the last hundred lines of the logs of all processes.

Both name the cause that the text says; where a text does not say it, they name the most
frequent one with low confidence.  They know nothing of tasks, exits of processes or metrics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from dask_failures.answer import Answer, Confidence
from dask_failures.causes import UNKNOWN
from dask_failures.diagnoser import Request, folder_of
from dask_failures.recording import Recording

__all__ = ["BASELINES", "LINES", "last_exception", "last_lines"]

LINES = 100
"""How many lines `last_lines` reads."""


class _Sign(NamedTuple):
    """A text that shows a cause.

    Attributes:
        pattern: Of the text.
        cause: What it shows.
        confidence: How surely.
    """

    pattern: str
    cause: str
    confidence: Confidence


_COMMON = (
    _Sign(r"exceeded 95% memory budget|over 95% memory", "worker-memory-limit", "high"),
    _Sign(r"Too many open files|EMFILE", "too-many-open-files", "high"),
    _Sign(r"No space left on device|ENOSPC", "disk-full", "high"),
    _Sign(r"P2P[\w ]*(failed|Error)|P2PConsistency", "p2p-failed", "medium"),
    _Sign(r"NoValidWorkerError", "no-valid-worker", "high"),
    _Sign(r"Only \d+/\d+ workers arrived", "workers-never-arrived", "high"),
    _Sign(r"CERTIFICATE_VERIFY|SSLError|ssl\.|TLS", "tls-misconfigured", "medium"),
    _Sign(r"deserializ\w+ of the task graph", "graph-not-deserializable", "high"),
    _Sign(r"[Cc]ould not serialize object|[Cc]annot pickle", "graph-not-serializable", "medium"),
    _Sign(r"ModuleNotFoundError|No module named", "environment-mismatch", "medium"),
    _Sign(r"lost dependencies", "data-lost", "medium"),
    _Sign(r"[Ss]cheduler-connection-lost|Scheduler .*was closed", "scheduler-lost", "medium"),
    _Sign(r"[Tt]imed out trying to connect|Connection refused|Name or service", "cannot-connect", "medium"),
)  # fmt: skip

_EXCEPTIONS = (
    *_COMMON,
    _Sign(r"^MemoryError|ArrayMemoryError", "task-memory-error", "high"),
    _Sign(r"KeyboardInterrupt", "cancelled", "medium"),
    _Sign(r"CancelledError", "cancelled", "medium"),
    # Dask says that workers died, not why: most often it was their memory limit.
    _Sign(r"KilledWorker", "worker-memory-limit", "low"),
    _Sign(r"CommClosedError|StreamClosedError", "scheduler-lost", "low"),
    _Sign(r"TimeoutError", "stalled", "low"),
    _Sign(r"^SystemExit", "driver-exception", "low"),
    _Sign(r"", "task-exception", "medium"),
)

_LINES = (
    *_COMMON,
    _Sign(r"signal 11|SIGSEGV|Segmentation fault", "worker-segfault", "high"),
    _Sign(r"signal 6|SIGABRT|terminate called", "worker-abort", "high"),
    _Sign(r"[Oo]ut of memory: Killed process|oom-kill", "kernel-oom", "high"),
    _Sign(r"failed to heartbeat|did not heartbeat", "worker-heartbeat-timeout", "medium"),
    _Sign(r"lifetime", "worker-lifetime", "low"),
    _Sign(r"killed by signal", "worker-signalled", "medium"),
    _Sign(r"exited with (?:status|code)", "worker-exit", "low"),
    _Sign(r"[Pp]ausing worker|Worker is at \d+% memory", "workers-paused", "low"),
    _Sign(r"Compute Failed|Exception: ", "task-exception", "medium"),
    _Sign(r"Traceback \(most recent call last\)", "driver-exception", "low"),
)  # fmt: skip


def last_exception(request: Request) -> Answer:
    """Answer by the last exception of the driver."""
    recording = Recording(folder_of(request))
    if request.run:
        text = _printed_exception(folder_of(request) / "output.txt")
        ended = request.exit
    else:
        raised = recording.ending.get("exception") or {}
        name = str(raised.get("exception", ""))
        text = f"{name}: {raised.get('message', '')}" if raised else ""
        ended = recording.reported.get("exit", recording.ending.get("exit_code"))
    if not text:
        return _without_text(ended)
    name = text.partition(":")[0].rpartition(".")[2]
    return _answer(_EXCEPTIONS, f"{name}: {text}", text)


def last_lines(request: Request) -> Answer:
    """Answer by the last hundred lines of all logs."""
    folder = folder_of(request)
    if request.run:
        lines = _read(folder / "output.txt").splitlines()
        ended = request.exit
    else:
        recording = Recording(folder)
        lines = recording.logs["message"].drop_nulls().to_list()
        ended = recording.reported.get("exit", recording.ending.get("exit_code"))
    text = "\n".join("\n".join(lines).splitlines()[-LINES:])
    if ended == 0:
        return _without_text(ended)
    return _answer(_LINES, text, text)


def _without_text(ended: object) -> Answer:
    """Answer where there is no text: a run succeeded, was ended, or no one knows."""
    if ended == 0:
        return Answer(cause=None, text="The run succeeded.", state="")
    if isinstance(ended, int) and ended < 0:
        text = f"The driver was ended by signal {-ended}."
        return Answer(cause="driver-killed", confidence="medium", text=text)
    return Answer(cause=UNKNOWN, confidence="low", text=f"It exited with {ended}.")


def _answer(signs: Iterable[_Sign], searched: str, shown: str) -> Answer:
    for each in signs:
        if re.search(each.pattern, searched, re.MULTILINE):
            return Answer(cause=each.cause, confidence=each.confidence, text=shown)
    return Answer(cause=UNKNOWN, confidence="low", text=shown)


def _printed_exception(output: Path) -> str:
    """Return the last line of the last traceback that was printed."""
    _, found, rest = _read(output).rpartition("Traceback (most recent call last)")
    lines = re.findall(r"^[\w.]+(?:Error|Exception|Interrupt|Exit|Killed\w*|\w+): ?.*", rest, re.MULTILINE)  # fmt: skip
    return lines[-1] if found and lines else ""


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


BASELINES: Mapping[str, Callable[[Request], Answer]] = {
    "last-exception": last_exception,
    "last-lines": last_lines,
}
"""By the name of `dask-failures baseline NAME`."""
