"""The exit report: what a worker's ring, its stack file and its end say."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import tempfile
import time
from itertools import product
from typing import Any

from ..memory_limits import cgroups, memory_limits
from ..process import stat_fields
from ..worker.ring import identity_in, read_ring

_LONGEST_STACK = 20_000
_USER, _SYSTEM = 11, 12  # fields of /proc/…/stat after the name
_UNREAD = 86_400.0  # seconds that unread rings are kept
_FATAL = (
    ("Segmentation fault", signal.SIGSEGV),
    ("Aborted", signal.SIGABRT),
    ("Bus error", signal.SIGBUS),
    ("Illegal instruction", signal.SIGILL),
    ("Floating", signal.SIGFPE),
)
_MEMORY_COUNTERS = ("memory.events", "memory.oom_control")  # of cgroups v2 and v1


def ring_folder(recording: str) -> str:
    """Return the folder of this host in which the rings of a recording lie."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = os.path.join(tempfile.gettempdir(), f"dask-blackbox-{user}")
    if not _is_own(folder):  # somebody else might read its files
        folder = os.path.expanduser("~/.cache/dask-blackbox")
    return os.path.join(folder, "rings", recording)


def _is_own(folder: str) -> bool:
    """Return whether a folder is none yet, or this user's own and no link."""
    try:
        status = os.lstat(folder)
    except OSError:
        return True
    ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return ours and stat.S_ISDIR(status.st_mode)


def make_ring_folder(folder: str) -> None:
    """Make what `ring_folder` returned, for this user only, whatever the umask is.

    Raises:
        OSError: if it cannot be made.
    """
    rings = os.path.dirname(folder)
    os.makedirs(os.path.dirname(os.path.dirname(rings)), exist_ok=True)
    for each in (os.path.dirname(rings), rings, folder):
        try:
            os.mkdir(each, 0o700)
        except FileExistsError:
            pass
        if stat.S_IMODE(os.stat(each).st_mode) & 0o077:
            os.chmod(each, 0o700)


def oom_kills(pid: int | str = "self") -> int | None:
    """Return how often the kernel killed for memory in the cgroup of `pid`, if it says."""
    for folder, name in product(cgroups(pid), _MEMORY_COUNTERS):
        try:
            with open(folder / name, encoding="utf-8") as file:
                for line in file:
                    if line.split()[:1] == ["oom_kill"]:
                        return int(line.split()[1])
        except (OSError, ValueError, IndexError):
            continue
    return None


def oom_kills_of_host() -> int | None:
    """Return how often the kernel killed for memory in all, if it counts that (Linux 4.13)."""
    try:
        with open("/proc/vmstat", encoding="utf-8") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return None


def oom_counts(pid: int | str = "self") -> tuple[int, int | None]:
    """Return how often the kernel killed for memory, in the cgroup of `pid` and in all."""
    return oom_kills(pid) or 0, oom_kills_of_host()


def oom_kills_since(before: tuple[int, int | None]) -> dict[str, int | None]:
    """Return how often the kernel has killed for memory since `oom_counts` was asked."""
    own, host = oom_counts()
    known = host is not None and before[1] is not None
    killed = own > before[0]
    return {
        "oom_kills": own - before[0],
        "cgroup_limit": memory_limits().get("cgroup") if killed else None,
        "host_oom_kills": host - before[1] if known else None,  # type: ignore[operator]
    }


def exit_report(ring: str, exit_code: int | None, **more: object) -> dict[str, Any]:
    """Return the exit report of the process that wrote `ring`.

    Args:
        exit_code: As `multiprocessing` gives it: negative for a signal, None if unknown.
        more: Particulars that the caller knows.
    """
    reported = read_ring(ring) or {}
    identity = reported.get("identity", {})
    stack = _stack(ring)
    if exit_code is None:
        exit_code = _signal_in(stack)
    return {
        "pid": identity.get("pid"),
        "worker": identity.get("worker"),
        "exit_code": exit_code,
        "signal": _signal_name(exit_code),
        "executing": reported.get("executing", []),
        "memory": reported.get("memory", [])[-300:],
        "lines": reported.get("lines", []),
        "lines_overwritten": reported.get("overwritten", 0),
        "stack": stack,
        **more,
    }


def _signal_in(stack: str) -> int | None:
    """Return the signal (negative) that Python reports for its own exit, if any."""
    for message, number in _FATAL:
        if stack.startswith(f"Fatal Python error: {message}"):
            return -number
    return None


def _signal_name(exit_code: int | None) -> str | None:
    if exit_code is None or exit_code >= 0:
        return None
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"


def _stack(ring: str) -> str:
    try:
        with open(f"{ring}.stack", encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_STACK)
    except OSError:
        return ""


def rings_of_dead_processes(folder: str, nanny: str | None = None) -> list[str]:
    """Return the rings in `folder` whose process is gone (of one nanny, if given)."""
    found = []
    for path, identity in rings_of(folder):
        if nanny is not None and identity.get("nanny") != nanny:
            continue
        if not _alive(identity.get("pid"), identity.get("started")):
            found.append(path)
    return found


def rings_of(folder: str) -> list[tuple[str, dict[str, object]]]:
    """Return the rings in `folder`, each with the identity of its process."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if name.endswith(".ring")]
    return [(path, identity_in(path)) for path in paths]


def executing_in(folder: str, nanny: str) -> list[object]:
    """Return what the living worker of a nanny executes, as its ring in `folder` has it."""
    for path, identity in rings_of(folder):
        if identity.get("nanny") == nanny and _alive(
            identity.get("pid"), identity.get("started")
        ):
            return list((read_ring(path) or {}).get("executing", []))
    return []


def state_of_process(pid: object) -> str:
    """Return the kernel's state of a process, in a word; "" if it has exited."""
    fields = stat_fields(pid)
    if not fields:
        return ""
    return {"T": "stopped", "t": "traced", "D": "in the kernel"}.get(fields[0], "alive")


def cpu_of_threads(pid: object) -> dict[int, float]:
    """Return the CPU seconds of a process's threads by native id; none if nothing reports them."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:  # it has ended, or this system has none
        return {}
    tick = os.sysconf("SC_CLK_TCK")
    return {
        int(thread): (int(fields[_USER]) + int(fields[_SYSTEM])) / tick
        for thread in threads
        if (fields := stat_fields(f"{pid}/task/{thread}"))
    }


def _alive(pid: Any, started: object) -> bool:
    fields = stat_fields(pid)
    if fields:
        return fields[0] not in "ZX" and (started is None or fields[19] == started)
    if os.path.isdir("/proc/self"):
        return False
    try:
        os.kill(int(pid), 0)
    except (OSError, TypeError, ValueError):
        return False
    return True


def process_started(pid: int) -> str | None:
    """Return the kernel's start time of a process, which distinguishes it from a later process with its number."""
    fields = stat_fields(pid)
    return fields[19] if fields else None


def forget_ring(path: str) -> None:
    """Remove a ring and its stack file."""
    for each in (path, f"{path}.stack", f"{path}.exit-report", f"{path}.taken-report"):
        try:
            os.unlink(each)
        except OSError:
            pass


def leave_rings(recording: str) -> None:
    """Remove the folder of a recording's rings, if this was the last on this host."""
    try:
        os.rmdir(ring_folder(recording))
    except OSError:
        pass


def remove_old_rings(folder: str) -> None:
    """Remove the rings of other recordings that were not read within a day.

    A scheduler that was suspended, or cut off, while its recorder ended starts workers with
    rings that no recorder looks for.

    Args:
        folder: Of this recording's rings, beside which the others lie.
    """
    try:
        found = list(os.scandir(os.path.dirname(folder)))
    except OSError:
        return
    for each in found:
        try:
            files = [each, *os.scandir(each.path)]
            newest = max(file.stat().st_mtime for file in files)
        except OSError:  # its own recording is removing it
            continue
        if newest > time.time() - _UNREAD or each.path == folder:
            continue
        # A worker that is silent for a day may still live.
        if len(rings_of_dead_processes(each.path)) == len(rings_of(each.path)):
            shutil.rmtree(each.path, ignore_errors=True)


def save_exit_report(ring: str, report: dict[str, object]) -> bool:
    """Write an exit report beside its ring, for who takes it on this host.

    Returns:
        Whether it is there: its recorder may have read the ring, and removed its folder.
    """
    try:
        with open(f"{ring}.exit-report", "w", encoding="utf-8") as file:
            json.dump(report, file, default=str)
    except OSError:
        return False
    return True


def take_exit_report(ring: str) -> dict[str, Any] | None:
    """Return the exit report that lies beside a ring, to the first who asks for it."""
    taken = f"{ring}.taken-report"
    try:
        os.rename(f"{ring}.exit-report", taken)
        with open(taken, encoding="utf-8") as file:
            found: dict[str, object] = json.load(file)
    except (OSError, ValueError):
        return None
    return found
