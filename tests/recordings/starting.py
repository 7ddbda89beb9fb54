"""Clusters of processes, started as people do: `dask scheduler`, `dask worker`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Processes", "processes"]

_PATIENCE = 60.0


@dataclass
class Processes:
    """A scheduler and its workers, each a process of its own.

    Attributes:
        folder: Where they live; their local directories lie in it.
        address: Of the scheduler.
        scheduler: Its process.
        workers: The processes of `dask worker`: nannies, unless there are none.
    """

    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def start_scheduler(self, *options: str) -> None:
        """Start `dask scheduler`, and wait until it can be reached."""
        file = self.folder / "scheduler.json"
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(file), *options,
        )  # fmt: skip
        deadline = time.monotonic() + _PATIENCE
        while not self.address:
            if time.monotonic() > deadline or self.scheduler.poll() is not None:
                raise RuntimeError("the scheduler does not start")
            if file.exists() and '"address"' in (text := file.read_text()):
                self.address = text.partition('"address": "')[2].partition('"')[0]
            time.sleep(0.05)

    def start_worker(
        self, *options: str, shell: str = "", python: str = ""
    ) -> subprocess.Popen[bytes]:
        """Start `dask worker`.

        Args:
            options: Of its command line.
            shell: What a shell does before it, such as `ulimit -n 64`.
            python: Another interpreter.
        """
        started = self._start(
            "dask_worker", self.address, "--no-dashboard", "--local-directory",
            str(self.folder), *options, shell=shell, python=python,
        )  # fmt: skip
        self.workers.append(started)
        return started

    def _start(
        self, module: str, *words: str, shell: str = "", python: str = ""
    ) -> subprocess.Popen[bytes]:
        command = [python or sys.executable, "-m", f"distributed.cli.{module}", *words]
        if shell:
            command = ["/bin/sh", "-c", f'{shell}; exec "$@"', "sh", *command]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=(self.folder / f"{module}.out").open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def end(self) -> None:
        """End all of them, with everything that they started."""
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextmanager
def processes(
    workers: int = 2,
    *options: str,
    shell: str = "",
    scheduler: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Processes]:
    """Start a cluster of processes.

    Args:
        workers: How many.
        options: Of `dask worker`.
        shell: What a shell does before each worker.
        scheduler: Options of `dask scheduler`.
        environment: Variables for all of them.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = Processes(Path(folder), environment=dict(environment or {}))
        try:
            started.start_scheduler(*scheduler)
            for _ in range(workers):
                started.start_worker("--nthreads", "1", *options, shell=shell)
            yield started
        finally:
            started.end()
