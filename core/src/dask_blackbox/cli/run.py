"""`dask blackbox run -- COMMAND…`: record every Dask client that a command makes."""

from __future__ import annotations

import contextlib
import gc
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from dask_blackbox.cli.options import (
    Verb,
    junit_option,
    links_option,
    printable,
    store_option,
)

if TYPE_CHECKING:  # heavy
    from dask_blackbox.card import RunCard
    from dask_blackbox.driver.session import Recording

import fcntl
import os
import termios
import threading
import time

from dask_blackbox.driver.kept_lines import KeptLines
from dask_blackbox.patterns import bounded

_LONGEST, _AT_ONCE = 4_000, 65_536
_TRACEBACK = "Traceback (most recent call last):"
_DRAINING = 1.0
"""Seconds to wait for a command's children that still hold its standard error."""


class ErrorOutput:
    """The standard error of a command that is about to run.

    A command that would have had a terminal gets one: colours and progress bars stay.

    Attributes:
        writes_to: The file descriptor for the command; None: that of this process.
    """

    def __init__(self) -> None:
        self.writes_to: int | None = None
        self._kept = KeptLines()
        self._rest = b""
        self._thread = threading.Thread(target=self._pass_on, daemon=True)

        try:
            self._ours = sys.stderr.fileno()
            self._reads, self.writes_to = self._pair()
        except (OSError, ValueError, AttributeError, termios.error):
            return  # closed, or no file: nothing is kept

    def _pair(self) -> tuple[int, int]:
        if not os.isatty(self._ours):
            return os.pipe()
        reads, writes = os.openpty()
        settings = termios.tcgetattr(writes)
        settings[1] &= ~termios.OPOST  # our own terminal does that
        termios.tcsetattr(writes, termios.TCSANOW, settings)
        size = fcntl.ioctl(self._ours, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(writes, termios.TIOCSWINSZ, size)
        return reads, writes

    def started(self) -> None:
        """Start to read, once the command has its end of the pipe."""
        if self.writes_to is not None:
            os.close(self.writes_to)
            self._thread.start()

    def ended(self) -> list[tuple[float, str]]:
        """Return lines, and when each was written, the command having exited."""
        if self._thread.ident is not None:
            self._thread.join(_DRAINING)
        if self._rest:
            self._kept.add(time.time(), _text(self._rest))
        return [*self._kept.lines()]

    def _pass_on(self) -> None:
        while True:
            try:
                got = os.read(self._reads, _AT_ONCE)
            except OSError:  # of a terminal: all its writers have closed it
                got = b""
            if not got:
                return
            self._keep(got)
            try:
                while got:
                    got = got[os.write(self._ours, got) :]
            except OSError:  # our output is closed; the command is not affected
                continue

    def _keep(self, got: bytes) -> None:
        *whole, rest = (self._rest + got).split(b"\n")
        now = time.time()
        for line in whole:
            self._kept.add(now, _text(line))
        self._rest = rest[-_LONGEST:]


def _text(line: bytes) -> str:
    # A progress bar writes one line again and again: its last state counts.
    last = line.rstrip(b"\r").rpartition(b"\r")[2]
    return last[:_LONGEST].decode(errors="replace")


class LogsOfDask:
    """How commands of Dask's ended that the run starts and whose output it puts into files.

    A worker that does not accept its options, or whose preload fails, is no part of any cluster:
    only its own log has the reason.

    Args:
        pid: The process of which they are descendants.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._logs: dict[int, BinaryIO] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look_often, daemon=True)

    def start(self) -> None:
        """Start to look for such commands."""
        self._thread.start()

    def endings(self) -> list[tuple[float, str]]:
        """Return how those ended that have exited with an error: lines, and when written."""
        self._stopped.set()
        self._thread.join(_DRAINING)
        found, known = list[tuple[float, str]](), set[tuple[int, int]]()
        for pid, log in self._logs.items():
            with contextlib.suppress(OSError, ValueError), log:
                status = os.fstat(log.fileno())
                same = (status.st_dev, status.st_ino)
                if same not in known and not _command_of(pid):
                    known.add(same)
                    found += [(status.st_mtime, line) for line in _ending_of(log)]
        return found

    def _look_often(self) -> None:
        while not self._stopped.wait(_OFTEN):
            for pid in _descendants(self._pid):
                if pid not in self._logs and _OF_DASK.search(_command_of(pid)):
                    with contextlib.suppress(OSError):
                        log = Path(f"/proc/{pid}/fd/2").resolve(strict=True)
                        if log.is_file() and len(self._logs) < _MOST_LOGS:
                            # Open: the script may remove its folder before the run ends.
                            self._logs[pid] = log.open("rb")


_OFTEN = 0.2  # seconds; Python takes longer to read the options of a command of Dask's
_MOST_LOGS = 50  # each keeps a file open
_OF_DASK = bounded(r"\bdask[ -](?:worker|scheduler|spec)\b|\bdistributed\.cli\b")
_OF_A_COMMAND = ("/dask/__main__.py", "/dask/cli.py", "/distributed/cli/")
_LINKS = ("The above exception was the", "During handling of the above")
_TAIL = 65_536


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes that descend from one; none where the system does not list them."""
    # Five times a second: `pathlib` takes three times as long.
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{thread}/children") as children,  # noqa: PTH123
            ):
                for child in map(int, children.read().split()):
                    yield child
                    yield from _descendants(child)


def _command_of(pid: int) -> str:
    """Return the command line of a process; empty if there is no such process any more."""
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
        )
    except OSError:
        return ""


def _ending_of(log: BinaryIO) -> list[str]:
    """Return the traceback, or the refused options, that a log of a command ends with."""
    log.seek(max(os.fstat(log.fileno()).st_size - _TAIL, 0))
    lines = log.read(_TAIL).decode(errors="replace").splitlines()
    begins = [n for n, line in enumerate(lines) if line == _TRACEBACK]
    usages = [n for n, line in enumerate(lines) if line.startswith("Usage: ")]
    while begins:
        start = begins.pop()
        before = next((line for line in reversed(lines[:start]) if line.strip()), "")
        if begins and before.startswith(_LINKS):
            continue
        text = "\n".join(lines[start:])
        return lines[start:] if any(each in text for each in _OF_A_COMMAND) else []
    return [line for line in lines[usages[-1] :] if line.strip()] if usages else []


_NOT_FOUND, _NOT_EXECUTABLE, _BY_SIGNAL = 127, 126, 128


@click.command(
    cls=Verb,
    examples=[
        "run -- python nightly.py",
        "run --store s3://dask-runs/etl -- python etl.py --day 2026-11-21",
        "run --only-on-failure --job nightly -- uv run nightly.py",
    ],
    context_settings={"ignore_unknown_options": True},
)
@store_option
@click.option("--job", metavar="NAME", help="Job name; runs of one job are compared.")
@click.option(
    "--run-id", metavar="ID", help="Run id. Default: derived from host and start time."
)
@click.option(
    "--card",
    "card_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Write the card to this file, as JSON.",
)
@junit_option
@click.option("-q", "--quiet", is_flag=True, help="Don't print the card.")
@click.option(
    "--only-on-failure",
    is_flag=True,
    help="Print the card only if the command failed or was not recorded (for cron).",
)
@click.option(
    "--required", is_flag=True, help="Don't run the command if it cannot be recorded."
)
@links_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    *,
    store_url: str | None,
    job: str | None,
    run_id: str | None,
    card_path: Path | None,
    junit_path: Path | None,
    quiet: bool,
    only_on_failure: bool,
    required: bool,
    links: bool | None,
    command: tuple[str, ...],
) -> None:
    """Record every Dask client that COMMAND makes, with no change to its code.

    Clients in the command itself and in its Python child processes are recorded.  Exits
    with the command's exit code (128 + N if signal N ended it) and prints the card.
    """
    gc.freeze()  # `dask` has imported distributed: that is not worth a collection
    from dask_blackbox.autorecord.command import CONTROL, environment_for
    from dask_blackbox.driver import recording
    from dask_blackbox.identity import identity_from_environment, started_as

    found = identity_from_environment(argv=started_as(command))
    rec = recording(
        store=store_url,
        job=job or found.job,
        run_id=run_id or found.run_id,
        attempt=found.attempt if job is None and run_id is None else None,
        host=found.host,
        required=required or None,
        command=command,
    )
    # Unless a recording of another command is in this process.
    rec.start(wait=False, forks=CONTROL not in os.environ)
    code = _run(
        command,
        environment_for(rec.control, rec.id) if rec.control else None,
        rec.command_event,
        rec.command_lines,
        lambda: _meanwhile(rec, shown=not quiet),
    )
    card = rec.finish_command(code)
    stored = printable(card, links, terminal=False)
    _write("the card", stored.to_json, card_path)
    if junit_path is not None:
        from dask_blackbox.report.ci import junit

        _write("the JUnit XML", lambda: junit(stored), junit_path)
    fine = card.state == "succeeded" and card.completeness.get("recorded", False)
    if not (quiet or (only_on_failure and fine)):
        terminal = sys.stderr is not None and sys.stderr.isatty()
        _show(printable(card, links, terminal=terminal))
    _print("", newline=False)  # what is left of log lines
    gc.freeze()  # the rest goes with the process
    sys.exit(code if code >= 0 else _BY_SIGNAL - code)


def _run(
    command: Sequence[str],
    environment: dict[str, str] | None,
    report: Callable[[str, dict[str, object]], None],
    keep: Callable[[list[tuple[float, str]]], None],
    meanwhile: Callable[[], None],
) -> int:
    """Run the command to its end, passing on the signals that are meant for it.

    Args:
        environment: Its environment; None: ours.
        report: Takes what happens to it.
        keep: Takes lines of one that failed.
        meanwhile: Called as soon as it runs: what it need not wait for.
    """
    output = ErrorOutput()
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's
            command, env=environment, stderr=output.writes_to
        )
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        message = f"no command {command[0]!r}" if missing else f"{command[0]}: {error}"
        _print(f"dask blackbox run: {message}")
        code = _NOT_FOUND if missing else _NOT_EXECUTABLE
        why = {"exit_code": code, "error": str(error.strerror)}
        report("command-not-started", {"argv": list(command), **why})
        return code
    output.started()
    logs = LogsOfDask(process.pid)
    logs.start()
    report("command-started", {"pid": process.pid, "argv": list(command)})

    def passed_on(number: int, frame: object) -> None:
        report("driver-got-signal", {"signal": signal.Signals(number).name})
        # A terminal's Ctrl-C reaches the command directly; we stay to report how it ended.
        if number != signal.SIGINT:
            process.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # What `nohup` ignores, the command ignores, too.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, passed_on)
    meanwhile()
    code = process.wait()
    lines = output.ended()
    endings = logs.endings()
    if code:  # of one that succeeded nobody asks
        keep([*endings, *lines])
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # from here on: nobody is left to get it
    return code


def _meanwhile(rec: Recording, *, shown: bool) -> None:
    if shown:
        # While the recorder works: who waits for the card need not wait for this, too.
        threading.Thread(target=_load_text, daemon=True).start()
    rec.wait_for_store()


def _load_text() -> None:
    with contextlib.suppress(Exception):
        from dask_blackbox import report

        _ = report.text


def _write(what: str, made: Callable[[], bytes], path: Path | None) -> None:
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made())
        except OSError as error:
            _print(f"dask blackbox run: {what}: {error}")


def _print(text: str, *, newline: bool = True) -> None:
    """Print on standard error; if that cannot be written to, the command's exit code counts."""
    try:
        click.echo(text, nl=newline, err=True)
    except OSError:
        # Python would try again as it exits, and exit with 120.
        sys.stderr = None


def _show(card: RunCard) -> None:
    from dask_blackbox.report import text

    # On standard error: standard output belongs to the command.
    _print(text(card))
