"""A diagnoser: a command that is asked about cases, in a process of its own.

It is started for each case, or once if it reads one request after the other (`stream`).
"""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol, Self

import msgspec

from dask_failures.answer import Answer, parsed
from dask_failures.errors import BadAnswerError, DiagnoserNotFoundError

__all__ = ["Asked", "Diagnoser", "Request", "StreamingDiagnoser", "diagnoser_of"]

_MOST = 4 * 2**20  # bytes of an answer
_SHOWN = 300


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a diagnoser is asked about, one line of JSON on its standard input.

    Attributes:
        case: The name of the set and of the case; it tells nothing of the cause.
        recording: The folder of a recording; or
        run: the folder in which its script has just run, with `output.txt`.
        exit: With what exit code.
    """

    case: str
    recording: str = ""
    run: str = ""
    exit: int | None = None


class Asked(Protocol):
    """Anything that answers requests."""

    def ask(self, request: Request) -> Answer:
        """Return the answer; raise `BadAnswerError` if there is none."""

    def close(self) -> None:
        """End its process, if it has one."""


def diagnoser_of(command: str, *, stream: bool, timeout: float) -> Asked:
    """Return a diagnoser.

    Args:
        command: As a shell would run it.
        stream: It reads one request after the other.
        timeout: Seconds that it has for each.

    Raises:
        DiagnoserNotFoundError: It cannot be started.
    """
    kind = StreamingDiagnoser if stream else Diagnoser
    return kind(command, timeout=timeout)


class Diagnoser:
    """A command that is started for each case, and reads one request."""

    def __init__(self, command: str, *, timeout: float) -> None:
        self._command, self._timeout = command, timeout
        self._words = words_of(command)

    def ask(self, request: Request) -> Answer:
        """Return the answer of a process of its own.

        Raises:
            BadAnswerError: There is none; the message says why.
            DiagnoserNotFoundError: The command cannot be started.
        """
        with tempfile.TemporaryFile() as errors:
            process = started(self._words, self._command, errors)
            try:
                printed, _ = process.communicate(
                    msgspec.json.encode(request) + b"\n", timeout=self._timeout
                )
            except subprocess.TimeoutExpired as late:
                raise BadAnswerError(f"no answer in {self._timeout:g} s") from late
            finally:
                stopped(process)
            if process.returncode:
                ending = f"it exited with {process.returncode}: {_last_line(errors)}"
                raise BadAnswerError(ending)
        return parsed(printed)

    def close(self) -> None:
        """Nothing runs between two requests."""


class StreamingDiagnoser:
    """A command that reads requests, a line each, and prints an answer to each, a line each."""

    def __init__(self, command: str, *, timeout: float) -> None:
        self._command, self._timeout = command, timeout
        self._words = words_of(command)
        self._errors: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Request) -> Answer:
        """Return the answer; a process that ended is started again.

        Raises:
            BadAnswerError: There is none; the message says why.
            DiagnoserNotFoundError: The command cannot be started.
        """
        if self._process is None:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
            self._process = started(self._words, self._command, self._errors)
        # One that ended without reading may have printed an answer.
        with suppress(BrokenPipeError):
            assert self._process.stdin is not None  # noqa: S101 - it is a pipe
            self._process.stdin.write(msgspec.json.encode(request) + b"\n")
            self._process.stdin.flush()
        line = self._line()
        if not line:
            assert self._errors is not None  # noqa: S101 - made above
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
            last = _last_line(self._errors)
            ended = self._process.poll() is not None
            late = f"no answer in {self._timeout:g} s"
            self.close()
            raise BadAnswerError(f"it exited: {last}" if ended else late)
        return parsed(line)

    def close(self) -> None:
        """End its process."""
        if self._process is not None:
            stopped(self._process)
        if self._errors is not None:
            self._errors.close()
        self._process, self._errors, self._read = None, None, b""

    def _line(self) -> bytes:
        """Return the next line that it prints; nothing if it is late or ends."""
        assert self._process is not None  # noqa: S101 - `ask` has started it
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        file, deadline = self._process.stdout, time.monotonic() + self._timeout
        with selectors.DefaultSelector() as selector:
            selector.register(file, selectors.EVENT_READ)
            while b"\n" not in self._read and len(self._read) < _MOST:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    return b""
                if not (more := os.read(file.fileno(), 2**16)):
                    break
                self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return line


def words_of(command: str) -> list[str]:
    """Return the words of a command.

    Raises:
        DiagnoserNotFoundError: It is empty, or a quote is not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise DiagnoserNotFoundError(command, error) from error
    if not words:
        raise DiagnoserNotFoundError(command, "it is empty")
    return words


def started(
    words: list[str], command: str, errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Return a process with a session of its own, and pipes for its input and output.

    Raises:
        DiagnoserNotFoundError: It cannot be started.
    """
    try:
        return subprocess.Popen(  # noqa: S603 - the command that the user gave
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    except OSError as error:
        raise DiagnoserNotFoundError(command, error.strerror) from error


def stopped(process: subprocess.Popen[bytes]) -> None:
    """End a process of `started` with all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    process.wait()


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0, os.SEEK_END)
    errors.seek(max(errors.tell() - 2**16, 0))
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:_SHOWN] if lines else "it wrote nothing to standard error"


def folder_of(request: Request) -> Path:
    """Return the folder that a request is about."""
    return Path(request.recording or request.run)
