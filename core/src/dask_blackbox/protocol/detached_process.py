"""A process that detaches itself from this one: how it is started, awaited and killed.

Its main function calls `_detach` first, which forks once more, as crash handlers do
(Crashpad's, for one): the process that is started here exits at once and is reaped, and the
one that continues is no child of this one.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from dask_blackbox.capture.nanny.worker_watcher import handle_of

_STARTING = 2.0  # seconds
_STARTS_RECORDING = (
    "DASK_BLACKBOX_CONTROL",
    "DASK_DISTRIBUTED__CLIENT__PRELOAD",
    "DASK_DISTRIBUTED__SCHEDULER__PRELOAD",
)


def unrecorded_environment() -> dict[str, str]:
    """Return this process's environment without what would make a recorder record itself."""
    return {k: v for k, v in os.environ.items() if k not in _STARTS_RECORDING}


@contextlib.contextmanager
def _no_warning_of_threads() -> Iterator[None]:
    """Fork without Python's warning: there are none but those of C libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


class DetachedProcess:
    """A process that this one has started, and that is not its child.

    One thread calls `read_pid`, then reads `stdout` to its end and calls `note_end`.

    Args:
        command: What is started.
        errors: Its standard error.
        environment: Its variables.
        folder: Its working directory; None: that of this process.
        handles: Descriptors of files that it inherits.
        instead: Called in the new process before it executes the command; need not return.

    Attributes:
        stdin: Its standard input.
        stdout: Its standard output.

    Raises:
        OSError: if it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        errors: IO[bytes] | int,
        environment: Mapping[str, str],
        folder: str | None = None,
        handles: Sequence[int] = (),
        instead: Callable[[], None] | None = None,
    ) -> None:
        with contextlib.ExitStack() as ends:
            if instead is not None:
                ends.enter_context(_no_warning_of_threads())
            self._child = subprocess.Popen(  # noqa: S603 - the caller's own command
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env=dict(environment),
                cwd=folder,
                pass_fds=handles,
                preexec_fn=instead,  # noqa: PLW1509
            )
        assert self._child.stdin is not None  # noqa: S101
        assert self._child.stdout is not None  # noqa: S101
        self.stdin: IO[bytes] = self._child.stdin
        self.stdout: IO[bytes] = self._child.stdout
        self._pid: int | None = None
        self._handle: int | None = None
        self._detached, self._ended = threading.Event(), threading.Event()

    @property
    def pid(self) -> int | None:
        """Its process id; None: it has not started yet."""
        return self._pid

    def read_pid(self) -> None:
        """Read the id of the process that continues, and reap the one that does not."""
        with contextlib.suppress(OSError, ValueError):
            pid = int(self.stdout.readline())
            if pid != self._child.pid:
                self._handle = handle_of(pid)
                self._child.wait()  # it exits once it has forked
            self._pid = pid
        self._detached.set()

    def note_end(self) -> None:
        """Note that its standard output has ended."""
        self._ended.set()

    def wait_until_detached(self, timeout: float) -> None:
        """Wait until it is no child of this process any more, or has failed to start."""
        self._detached.wait(timeout)

    @property
    def attached(self) -> bool:
        """Whether it has stayed a child of this process, or may have."""
        return self._pid is None or self._pid == self._child.pid

    def blocks(self) -> bool:
        """Return whether the main thread waits for it, as the last child of this process."""
        try:
            with open("/proc/self/wchan") as file:  # noqa: PTH123 - twice a second
                waiting = file.read() == "do_wait"
            if not (waiting and self.attached):
                return False
            tasks = Path("/proc/self/task").glob("*/children")
            children = {pid for each in tasks for pid in each.read_text().split()}
        except OSError:  # another system, or a thread has just ended
            return False
        return children == {str(self._pid)}

    def kill(self) -> None:
        """Kill it."""
        self._detached.wait(_STARTING)  # before that, it is unknown which process it is
        if self.attached:
            self._child.kill()
        elif self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        elif self._pid is not None and not self._ended.is_set():
            # Its end is not known: its id is not another one's yet.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def wait(self, timeout: float) -> None:
        """Wait until it has exited; after `timeout` seconds, it continues alone."""
        if self._pid is None or self._pid == self._child.pid:
            try:
                self._child.wait(timeout)
            except subprocess.TimeoutExpired:
                # Without a code, Python would warn that it still runs.
                self._child.returncode = 0
            return
        handle, self._handle = self._handle, None
        if handle is None:
            self._ended.wait(timeout)
        else:
            exiting: Any = select.poll()
            exiting.register(handle, select.POLLIN)
            exiting.poll(timeout * 1000)
            os.close(handle)
        # This process may have adopted it (`PR_SET_CHILD_SUBREAPER`).
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, os.WNOHANG)
