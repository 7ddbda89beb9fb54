"""`dask blackbox check`: fail a CI job whose run was too slow, too large or too expensive."""

from __future__ import annotations

import json
import sys
from contextlib import suppress

import click
import msgspec

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    run_argument,
    screen,
    store_option,
)
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.formatting import age_of, plain

_EXCEEDED = 3
_SIGNS = {"kept": "✓", "exceeded": "✗", "unknown": "?"}
_COLOURS = {"kept": "green", "exceeded": "red", "unknown": "yellow"}


@click.command(
    cls=Verb,
    examples=[
        "check",
        "check nightly --max-slowdown 1.3 --max-memory 12GiB",
        "check nightly --max-duration 2h --max-compute 40h --json",
    ],
)
@run_argument
@store_option
@click.option(
    "--max-slowdown",
    type=click.FloatRange(min=0, min_open=True),
    metavar="TIMES",
    help="Duration, relative to the median of the last 10 good runs.",
)
@click.option(
    "--max-growth",
    type=click.FloatRange(min=0, min_open=True),
    metavar="TIMES",
    help="Peak memory of a worker, relative to that median.",
)
@click.option("--max-duration", metavar="AGE", help="Duration: 90s, 30m, 2h.")
@click.option(
    "--max-memory", metavar="SIZE", help="Peak memory of a worker: 12GiB, 800MB."
)
@click.option(
    "--max-compute",
    metavar="AGE",
    help="Time that tasks computed, over all threads: 40h.",
)
@click.option(
    "--max-deaths",
    type=click.IntRange(min=0),
    metavar="N",
    help="Workers that died.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(
    *,
    name: str,
    store_url: str | None,
    max_slowdown: float | None,
    max_growth: float | None,
    max_duration: str | None,
    max_memory: str | None,
    max_compute: str | None,
    max_deaths: int | None,
    as_json: bool,
) -> None:
    """Exit with 3 if RUN did not succeed, or exceeded a limit.

    A limit that cannot be checked, because the job has too few good runs or the recording
    lacks it, is printed with a question mark and does not change the exit code.
    """
    from dask_blackbox.reader.budgets import Budgets, checked
    from dask_blackbox.serve.cards import card_of_run

    budgets = Budgets(
        slowdown=max_slowdown,
        growth=max_growth,
        seconds=None
        if max_duration is None
        else age_of(max_duration, "--max-duration"),
        memory=None if max_memory is None else _bytes(max_memory),
        compute=None if max_compute is None else age_of(max_compute, "--max-compute"),
        deaths=max_deaths,
    )
    run = opened_run(opened_store(store_url), name)
    found = checked(card_of_run(run), run.history().names, budgets)
    if as_json:
        report = {"run": run.address.name, "checked": msgspec.to_builtins(found)}
        click.echo(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        click.echo(run.address.name)
        colour = screen().colour
        for each in found:
            sign = _SIGNS[each.verdict]
            shown = click.style(sign, fg=_COLOURS[each.verdict]) if colour else sign
            click.echo(f"{shown} {plain(each.text)}")
    if any(each.verdict == "exceeded" for each in found):
        sys.exit(_EXCEEDED)


def _bytes(typed: str) -> int:
    from dask.utils import parse_bytes

    with suppress(ValueError):
        if typed.strip()[-1:].isalpha():  # a bare number would be bytes
            return int(parse_bytes(typed))
    raise ConfigurationError(
        f"--max-memory {typed!r} is not a size; give one like '12GiB' or '800MB'"
    )
