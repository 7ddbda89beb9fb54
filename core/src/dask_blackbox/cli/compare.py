"""`dask blackbox compare`: everything in which two runs differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
import msgspec
from rich.table import Table
from rich.text import Text

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    print_rendered,
    runs_beginning,
    store_option,
)
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.formatting import count, duration, moment, plain
from dask_blackbox.layout import RunAddress
from dask_blackbox.report.text_card import printed, whole_change
from dask_blackbox.report.wording import (
    STATE_SIGN,
    blame_text,
    measure,
)

if TYPE_CHECKING:
    # Loaded with analysis, which `--help` does without.
    from dask_blackbox.reader.comparison import (
        ComparedRun,
        Comparison,
        Measured,
        PrefixPair,
    )
    from dask_blackbox.store import Store


_PIPED = 160


@click.command(
    cls=Verb,
    examples=[
        "compare nightly/run-6 nightly/run-7",
        "compare nightly/run-6 latest --json",
        "compare latest",
    ],
)
@click.argument("before", metavar="RUN", shell_complete=runs_beginning)
@click.argument("after", metavar="[RUN]", required=False, shell_complete=runs_beginning)
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/history.md).")
def compare(
    *, before: str, after: str | None, store_url: str | None, as_json: bool
) -> None:
    """Show how the second RUN differs from the first.

    One RUN alone is compared with the baseline of its job (`dask blackbox note
    --baseline`), else with the last good run before it.

    Prints what changed, most relevant first; the numbers of both; and their tasks by
    prefix, largest change first. A run without a recording is compared by its sketch.
    """
    from dask_blackbox.reader.comparison import compare_runs

    store = opened_store(store_url)
    if after is None:
        before, after = _with_usual(store, before)
    comparison = compare_runs(store, before, after)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(comparison), indent=2))
        return
    print_rendered(partial(comparison_text, comparison), piped=_PIPED)


def _with_usual(store: Store, name: str) -> tuple[str, str]:
    """Return the run to compare a run with, and that run, by their full names.

    Raises:
        ConfigurationError: if its job has no baseline and no good run before it.
    """
    from dask_blackbox.analyse import Case
    from dask_blackbox.analyse.mapped_instances import good_run_for
    from dask_blackbox.analyse.sketching import sketch_of
    from dask_blackbox.reader.notes import baseline_of

    run = opened_run(store, name)
    baseline = baseline_of(store, run.address.job)
    if baseline is not None and baseline != run.address:
        return baseline.name, run.address.name
    good = good_run_for(run.history(), sketch_of(Case(run)))
    if good is None:
        raise ConfigurationError(
            f"{run.address.name} has no run to be compared with: no earlier run of its job "
            "succeeded, and none is its baseline (`dask blackbox note RUN --baseline`); "
            "name two runs"
        )
    return RunAddress.of_run(good).name, run.address.name


_MOST_CHANGES = 30
_MOST_PREFIXES = 20
_NOTABLE = 1.25
_LITTLE = 0.005
_MEASURES = {"seconds": "median", "nbytes": "result", "memory": "memory"}
_LEAST_WIDTHS = (90, 116)  # columns that it takes to show the second, and all
_UNKNOWN = "\N{EN DASH}"


def comparison_text(
    comparison: Comparison, *, width: int = 100, colour: bool = False
) -> str:
    """Return a comparison as text.

    Args:
        colour: With terminal colours.
    """
    parts: list[Text | Table] = [
        _head("before", comparison.before),
        _head("after ", comparison.after),
        Text(),
        *_changes(comparison),
        Text(),
        _numbers(comparison.numbers),
        Text(),
    ]
    if comparison.prefixes:
        parts.append(_prefixes(comparison.prefixes[:_MOST_PREFIXES], _fitting(width)))
    if len(comparison.prefixes) > _MOST_PREFIXES:
        more = len(comparison.prefixes) - _MOST_PREFIXES
        parts.append(Text(f"+{more} prefixes that changed less (see --json)"))
    return printed(parts, width=width, colour=colour)


def _head(label: str, run: ComparedRun) -> Text:
    text = Text(f"{label}  ", style="dim")
    style = "green" if run.state == "succeeded" else "red"
    text.append(
        f"{STATE_SIGN.get(run.state, '?')} {run.state}", style=f"not dim {style}"
    )
    took = "" if run.duration is None else f" · took {duration(run.duration)}"
    text.append(
        f"  {plain(run.job)}/{plain(run.run_id)}/{run.attempt} · {moment(run.started)}{took}",
        style="not dim",
    )
    if run.title:
        text.append(f"\n        {plain(run.title)} ({run.verdict})", style="dim")
    return text


def _changes(comparison: Comparison) -> Iterable[Text]:
    if comparison.note:
        yield Text(comparison.note, style="bold")
    if not comparison.changes and comparison.nothing:
        yield Text(comparison.nothing)
    if comparison.changes and comparison.past is not None:
        yield Text(blame_text(comparison.past), style="bold")
    for change in comparison.changes[:_MOST_CHANGES]:
        yield whole_change("  ", change)
    if len(comparison.changes) > _MOST_CHANGES:
        yield Text(f"  +{len(comparison.changes) - _MOST_CHANGES} more (see --json)")
    if comparison.unknown and comparison.changes:
        kinds = ", ".join(comparison.unknown)
        yield Text(f"  could not be compared in full: {kinds}", style="dim")


def _numbers(numbers: Sequence[Measured]) -> Table:
    table = _table("", "before", "after", "")
    for each in numbers:
        if each.before or each.after:
            table.add_row(
                each.name.replace("_", " "),
                _value_text(each.name, each.before),
                _value_text(each.name, each.after),
                _times(each),
            )
    return table


def _fitting(width: int) -> dict[str, str]:
    """Return the measures of tasks that fit: a truncated name would be useless."""
    columns = sum(width >= least for least in _LEAST_WIDTHS)
    return dict(list(_MEASURES.items())[: 1 + columns])


def _prefixes(prefixes: Sequence[PrefixPair], shown_of: dict[str, str]) -> Table:
    heads = [each for head in shown_of.values() for each in (head, "")]
    table = _table("prefix", "tasks", *heads, "all")
    for pair in prefixes:
        by_name = pair.measured
        cells: list[str | Text] = [plain(pair.name)]
        cells.append(_both(by_name["tasks"], count))
        for name in shown_of:
            shown = duration if name == "seconds" else partial(measure, "bytes")
            cells += [_both(by_name[name], shown), _times(by_name[name])]
        sign = "+" if pair.cost >= 0 else ""
        little = abs(pair.cost) < _LITTLE
        cells.append("" if little else f"{sign}{duration(pair.cost)}")
        table.add_row(*cells)
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for number, head in enumerate(heads):
        if number == 0:
            table.add_column(head, overflow="fold", min_width=10)
        else:
            table.add_column(head, justify="right", no_wrap=True, overflow="fold")
    return table


def _both(pair: Measured, shown: Callable[[float], str]) -> str:
    before, after = (
        _UNKNOWN if value is None else shown(value)
        for value in (pair.before, pair.after)
    )
    return before if before == after else f"{before} → {after}"


def _value_text(name: str, value: float | None) -> str:
    return _UNKNOWN if value is None else measure(name, value)


def _times(pair: Measured) -> Text:
    times = pair.times
    if times is None or 1 / _NOTABLE < times < _NOTABLE:
        return Text("")
    return Text(f"{times:.1f}×" if times >= 1 else f"{times:.2f}×", style="bold yellow")  # noqa: RUF001
