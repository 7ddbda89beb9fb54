"""`dask blackbox run -- COMMAND…`: record every Dask client that a command makes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from dask_blackbox.cli.options import store_option

__all__ = ["run"]

_NOT_FOUND, _NOT_EXECUTABLE, _BY_SIGNAL = 127, 126, 128


@click.command(context_settings={"ignore_unknown_options": True})
@store_option
@click.option("--job", metavar="NAME", help="What is run again and again.")
@click.option("--run-id", metavar="ID", help="Which of its runs.")
@click.option(
    "--card",
    "card_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Write the card there, as JSON.",
)
@click.option("--required", is_flag=True, help="Don't run what cannot be recorded.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    *,
    store_url: str | None,
    job: str | None,
    run_id: str | None,
    card_path: Path | None,
    required: bool,
    command: tuple[str, ...],
) -> None:
    """Record every Dask client that COMMAND makes, with no change to its code.

    Clients in the command itself and in its Python children are recorded.  Ends with the
    command's own exit code (128 + N for one that signal N ended) and prints the card.
    """
    from dask_blackbox.bootstrap import environment_for
    from dask_blackbox.flight import recording
    from dask_blackbox.identity import argv_of, identity_from_environment

    found = identity_from_environment(argv=argv_of(command))
    rec = recording(
        store=store_url,
        job=job or found.job,
        run_id=run_id or found.run_id,
        attempt=found.attempt if job is None and run_id is None else None,
        host=found.host,
        required=required or None,
        command=command,
    )
    rec.start()
    code = _run(command, environment_for(rec.control, rec.id) if rec.control else None)
    card = rec.finish_command(code)
    _show(card, card_path)
    sys.exit(code if code >= 0 else _BY_SIGNAL - code)


def _run(command: Sequence[str], environment: dict[str, str] | None) -> int:
    """Run the command to its end, passing on the signals that are meant for it."""
    try:
        process = subprocess.Popen(command, env=environment)  # noqa: S603 - the user's
    except FileNotFoundError:
        click.echo(f"dask blackbox run: no command {command[0]!r}", err=True)
        return _NOT_FOUND
    except OSError as error:
        click.echo(f"dask blackbox run: {command[0]}: {error}", err=True)
        return _NOT_EXECUTABLE
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, frame: process.send_signal(n))
    # A terminal's Ctrl-C reaches the command by itself; we stay to tell how it ended.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return process.wait()


def _show(card: object, path: Path | None) -> None:
    from dask_blackbox.attach import RunCard
    from dask_blackbox.report import text

    assert isinstance(card, RunCard)  # noqa: S101
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(card.to_json())
        except OSError as error:
            click.echo(f"dask blackbox run: the card: {error}", err=True)
    # On standard error: standard output belongs to the command.
    click.echo(text(card), err=True)
