"""What a failure is reported on: clusters of every kind, recorded in every way.

A failure is a function that takes a `Stage`.  What it raises is how the run ends.  The
cause that stands on its decorator was decided by what the function does, before anything
was said of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import dask
from distributed import Client, LocalCluster
from starting import Processes, processes

__all__ = [
    "FAILURES",
    "Failure",
    "NotHere",
    "Stage",
    "children_of",
    "delayed",
    "failure",
    "later",
    "until",
]

How = Literal["recording", "command"]
"""Recorded by `with recording(client)`, or by `dask blackbox run` around a script."""

Run = Callable[["Stage"], Any]


class NotHere(Exception):  # noqa: N818 - it is no failure, of ours or theirs
    """This machine cannot make that failure happen."""


@dataclass(frozen=True)
class Failure:
    """A case of a failure.

    Attributes:
        name: Of the case.
        module: The module of `failures` that it lives in.
        causes: The slug that is right; more of them where `why` says why.
        run: What happens.
        names: Regular expressions that title, cause or evidence of the verdict contain.
        how: In which way it is recorded.
        settings: Of Dask, for all processes of the case.
        bound: Seconds after which it is ended from outside.
        noise: What else goes wrong on the side, in a word or two.
        why: More than one cause can be reported of it.
        held_out: The set that it belongs to, if it was reported once, after all tuning.
        accepted: Why something else than `causes` is said of its kept recording, and that is
            no fault.
    """

    name: str
    module: str
    causes: tuple[str, ...]
    run: Run
    names: tuple[str, ...] = ()
    how: How = "recording"
    settings: Mapping[str, Any] = field(default_factory=dict)
    bound: float = 90
    noise: str = ""
    why: str = ""
    held_out: str = ""
    accepted: str = ""


FAILURES: dict[str, Failure] = {}


def failure(
    *causes: str,
    names: str | Sequence[str] = (),
    allowed: int | None = None,
    hang: bool = False,
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> Callable[[Run], Run]:
    """Put a case into the corpus.

    Args:
        causes: Slugs that are right.
        names: As in `Failure`; one or several.
        allowed: Deaths that a task may meet and be tried again.
        hang: Nothing is raised by itself: a stall is reported after 3 s.
        settings: Further settings of Dask.
        more: Further fields of `Failure`.
    """

    def put(run: Run) -> Run:
        module = run.__module__.rpartition(".")[2]
        found = dict(settings or {})
        if allowed is not None:
            found["distributed.scheduler.allowed-failures"] = allowed
        if hang:
            found.setdefault("blackbox.stall.after", "3s")
        name = run.__name__
        if name in FAILURES:
            raise ValueError(f"there are two cases called {name}")
        FAILURES[name] = Failure(
            name=name,
            module=module,
            causes=causes,
            run=run,
            names=(names,) if isinstance(names, str) else tuple(names),
            settings=found,
            **more,
        )
        return run

    return put


@dataclass
class Stage:
    """Where one case is reported.

    Attributes:
        name: Of the case.
        store: Where its recording goes.
        folder: For the case's files.
        outside: It is recorded from outside, by `dask blackbox run`.
    """

    name: str
    store: str
    folder: Path
    outside: bool = False

    def recording(self, client: Client | None = None) -> AbstractContextManager[Any]:
        """Record what happens inside, unless it is recorded from outside."""
        from dask_blackbox.driver import recording

        if self.outside:
            return nullcontext()
        return recording(client, store=self.store, job=self.name, run_id="recorded")

    @contextmanager
    def local(self, n_workers: int = 2, **options: Any) -> Iterator[Client]:
        """A `LocalCluster`, its client, recorded."""
        found: dict[str, Any] = {
            "n_workers": n_workers,
            "threads_per_worker": 1,
            "memory_limit": "1GiB",
            "dashboard_address": None,
            **options,
        }
        with (
            LocalCluster(**found) as cluster,
            Client(cluster) as client,
            self.recording(client),
        ):
            yield client

    @contextmanager
    def started(
        self, workers: int = 2, *options: str, **more: Any
    ) -> Iterator[tuple[Client, Processes]]:
        """`dask scheduler` and `dask worker`s, a client, recorded."""
        with processes(workers, *options, **more) as cluster:
            client = Client(cluster.address)
            try:
                client.wait_for_workers(workers, timeout=40)
                with self.recording(client):
                    yield client, cluster
            finally:
                client.close(timeout=2)

    def script(self, text: str, *arguments: str, timeout: float = 60) -> int:
        """Run a user's script in its own folder, as a shell would; say how it ended."""
        path = self.folder / "job.py"
        path.write_text(text)
        return subprocess.run(
            [sys.executable, str(path), *arguments],
            cwd=self.folder,
            timeout=timeout,
            check=False,
        ).returncode

    @contextmanager
    def neighbour(self, address: str, work: str) -> Iterator[None]:
        """Another driver, in a process of its own, that nobody records.

        Args:
            address: Of the scheduler.
            work: What it does with its `client`, in one line; then it waits.
        """
        lines = ["import os, time", "from distributed import Client"]
        lines += [f"client = Client({address!r})", f"held = {work}", "time.sleep(600)"]
        path = self.folder / "neighbour.py"
        path.write_text("\n".join(lines))
        with subprocess.Popen([sys.executable, str(path)]) as process:
            try:
                yield
            finally:
                process.kill()

    def module(self, name: str, text: str) -> Path:
        """Write a module, and make it one that this process can import."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        path = folder / f"{name}.py"
        path.write_text(text)
        sys.path.insert(0, str(folder))
        return path

    def package(self, name: str, text: str, version: str = "1.0") -> Path:
        """Install a package, for this process alone; return its `site-packages`."""
        folder = Path(tempfile.mkdtemp(dir=self.folder)) / "site-packages"
        for inner in (name, f"{name}-{version}.dist-info"):
            (folder / inner).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(text)
        facts = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / f"{name}-{version}.dist-info" / "METADATA").write_text(facts)
        sys.path.insert(0, str(folder))
        return folder


def until(holds: Callable[[], Any], patience: float = 30) -> Any:
    """Wait until something holds, and return it."""
    deadline = time.monotonic() + patience
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise NotHere("what the case waits for did not happen")
        time.sleep(0.02)
    return found


def later(seconds: float, act: Callable[..., Any], *arguments: Any) -> None:
    """Do something at the side, in a while."""
    timer = threading.Timer(seconds, act, arguments)
    timer.daemon = True
    timer.start()


def delayed(function: Callable[..., Any]) -> Any:
    """`dask.delayed`, with types."""
    return dask.delayed(function)


def children_of(pid: int | None = None) -> list[int]:
    """Return the process ids of all descendants of a process."""
    import psutil

    return [
        each.pid for each in psutil.Process(pid or os.getpid()).children(recursive=True)
    ]
