"""The faults of the fuzzer: which process is hit, by what, and when."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from conditions import until
from fuzz_draws import Round
from fuzz_roles import Deed, Truth, roles_in
from scenario_runs import Home

__all__ = ["do_it"]


def do_it(
    truth: Truth, process: subprocess.Popen[bytes], trouble: Callable[[], None]
) -> None:
    kind = truth.round
    if kind.victim == "nobody":
        return
    if not _comes(truth, process):
        return
    time.sleep(kind.after)
    truth.roles = roles_in(truth.home)
    if kind.victim in ("store", "network", "clock"):
        truth.deeds.append(Deed(time.time(), kind.victim, 0, kind.how))
        trouble()
    elif kind.victim == "spool":
        truth.deeds.append(Deed(time.time(), "spool", 0, kind.how))
        _spoil(truth.home, kind.how)
    elif kind.victim == "everything":
        _everything(truth)
    else:
        _hit(truth, process)
        if kind.again and kind.victim in ("worker", "recorder", "nanny"):
            time.sleep(kind.again)
            _hit(truth, process)


def _comes(truth: Truth, process: subprocess.Popen[bytes]) -> bool:
    """Wait for the moment; it may never come, where something else goes wrong."""
    kind = truth.round
    seen = f"at_{kind.moment}"

    def begun() -> bool:
        if process.poll() is not None:
            return True
        if seen not in truth.reported:
            return False
        running_tasks = kind.moment in ("first", "second")
        newest = max(
            (p.stat().st_mtime for p in (truth.home.folder / "truth").glob("*")),
            default=0.0,
        )
        return not running_tasks or newest > truth.reported[seen]

    until(begun, kind.moment)
    return process.poll() is None


def _hit(truth: Truth, process: subprocess.Popen[bytes]) -> None:
    kind, roles = truth.round, roles_in(truth.home)
    truth.roles |= roles
    name, _, then = kind.how.partition(" and ")
    pids = _victims(kind, roles, process)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            truth.deeds.append(Deed(time.time(), roles.get(pid, "?"), pid, kind.how))
            os.kill(pid, signal.Signals[name])
    if then:
        time.sleep(1 + 6 * (kind.seed % 100) / 100)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.Signals[then])


def _victims(
    kind: Round, roles: dict[int, str], process: subprocess.Popen[bytes]
) -> list[int]:
    def of(role: str) -> list[int]:
        return sorted(pid for pid, each in roles.items() if each == role)

    workers, nannies = of("worker"), of("nanny")
    one = nannies[kind.seed // 7 % len(nannies) :][:1] if nannies else []
    chosen = {
        "worker": workers[kind.seed // 7 % len(workers) :][:1] if workers else [],
        "all workers": workers,
        "nanny": one,
        "nanny and worker": one + [pid for pid in workers if _parent(pid) in one],
        "all nannies": nannies,
        "driver's group": sorted(p for p in roles if _group(p) == process.pid),
    }
    return chosen.get(kind.victim, of(kind.victim))


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


def _everything(truth: Truth) -> None:
    victims = roles_in(truth.home)
    for pid in victims:  # stopped first: nobody sees another one die
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    truth.deeds += [Deed(time.time(), r, p, "SIGKILL") for p, r in victims.items()]
    truth.home.clear()


def _spoil(home: Home, how: str) -> None:
    ours = list(home.temporary.glob("dask-blackbox-*"))
    if how == "temporary folder deleted":
        for each in home.temporary.iterdir():
            if each.name.startswith(("dask-blackbox-", "dbb-")):
                shutil.rmtree(each, ignore_errors=True)
                each.unlink(missing_ok=True) if each.is_file() else None
        return
    for folder in ours:
        shutil.rmtree(folder / "spool", ignore_errors=True)
        if how == "spool full":  # of a kind: nothing can be made there any more
            (folder / "spool").write_text("a file where a folder should be")
