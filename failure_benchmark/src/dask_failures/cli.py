"""The command `dask-failures`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import click
import msgspec

from dask_failures.baselines import BASELINES
from dask_failures.causes import GROUPS
from dask_failures.diagnoser import Request, diagnoser_of, words_of
from dask_failures.errors import DaskFailuresError
from dask_failures.readers import MATERIALS, Reader, of_tool
from dask_failures.scored import score
from dask_failures.scoring import Result, table, written
from dask_failures.sets import all_sets

__all__ = ["main"]

_SHOWN = 20  # problems that are printed


class _Commands(click.Group):
    """Prints what is wrong in one line."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except DaskFailuresError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands)
@click.version_option(package_name="dask-failures")
def main() -> None:
    """Failed Dask runs with known causes, and a judge of what explains them."""


@main.command("score")
@click.option(
    "--diagnoser",
    required=True,
    metavar="COMMAND",
    help="The command that is asked, as a shell would run it; or NAME=COMMAND.",
)
@click.option("--stream", is_flag=True, help="It reads one request after the other.")
@click.option("--sets", multiple=True, metavar="SET", help="Only these sets.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Only cases of this name, cause, kind or part.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    help="Cases at a time. Default: the number of CPUs.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    help="Seconds for each answer. Default: 60.",
)
@click.option("--run", is_flag=True, help="Run the scripts; replay no recordings.")
@click.option(
    "--recorder",
    default="",
    metavar="COMMAND",
    help="With --run: run each script under this command; {folder} and {name} are replaced.",
)
@click.option(
    "--json-lines", is_flag=True, help="Tables of recordings as lines of JSON as well."
)
@click.option("--baselines", is_flag=True, help="Score the two baselines as well.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all answers with their judgements, as JSON.",
)
def score_command(
    *,
    diagnoser: str,
    stream: bool,
    sets: tuple[str, ...],
    only: tuple[str, ...],
    jobs: int,
    timeout: float,
    run: bool,
    recorder: str,
    json_lines: bool,
    baselines: bool,
    out: Path | None,
) -> None:
    """Ask a diagnoser about all cases, and print how often it is right."""
    if recorder and not run:
        raise click.UsageError("--recorder is for --run, which runs the scripts")
    name, command = _named(diagnoser)
    asked = {name: (command, stream)}
    if baselines:
        own = f"{sys.executable} -m dask_failures baseline"
        asked |= {each: (f"{own} {each}", True) for each in BASELINES}
    found: dict[str, list[Result]] = {}
    for each, (words, streaming) in asked.items():
        found[each] = score(
            all_sets(sets),
            lambda words=words, streaming=streaming: diagnoser_of(  # type: ignore[misc]
                words, stream=streaming, timeout=timeout
            ),
            only=only,
            jobs=jobs,
            recorder=recorder if run else None,
            json_lines=json_lines,
            report=_progress(each),
        )
        sys.stderr.write("\n" if found[each] else "no cases\n")
    if out is not None:
        blob = msgspec.json.encode(found)
        out.write_bytes(msgspec.json.format(blob, indent=1))
    _print(found, name)


def _named(diagnoser: str) -> tuple[str, str]:
    name, equals, command = diagnoser.partition("=")
    if equals and name.replace("-", "").replace("_", "").isalnum():
        return name, command
    return "diagnoser", diagnoser


def _progress(name: str) -> Callable[[Result], None]:
    counts = Counter[str]()

    def report(result: Result) -> None:
        counts[result.kind] += 1
        shown = ", ".join(f"{kind} {number}" for kind, number in counts.most_common())
        sys.stderr.write(f"\r{name}: {sum(counts.values())} cases: {shown}   ")
        sys.stderr.flush()

    return report


def _print(found: dict[str, list[Result]], name: str) -> None:
    click.echo("\n".join(written(found[name])))
    if len(found) > 1:
        click.echo("\n" + table(found))
    wrong = [each for each in found[name] if each.kind != "right"]
    for each in wrong[:_SHOWN]:
        click.echo(f"{each.kind:10}{each.confidence:7}{each.case}: {each.problem}")
    if len(wrong) > _SHOWN:
        rest = len(wrong) - _SHOWN
        click.echo(f"… and {rest} more that are not all right: --out FILE has all")


@main.command("readers")
@click.option(
    "--reader",
    required=True,
    metavar="COMMAND",
    help="Reads a question on standard input, and prints an answer.",
)
@click.option(
    "--tool",
    default="",
    metavar="COMMAND",
    help="A diagnoser (--stream) whose text is the third material.",
)
@click.option("--sets", multiple=True, metavar="SET", help="Only these sets.")
@click.option("--only", multiple=True, metavar="NAME", help="Only these cases.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="Cases at a time.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    help="Seconds for each answer. Default: 300.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all answers with their judgements, as JSON.",
)
def readers_command(
    *,
    reader: str,
    tool: str,
    sets: tuple[str, ...],
    only: tuple[str, ...],
    jobs: int,
    timeout: float,
    out: Path | None,
) -> None:
    """Compare what one reader answers from Dask's exception, from logs, and from a tool."""
    command = words_of(reader)
    materials = dict(MATERIALS)
    found: dict[str, list[Result]] = {}
    with ExitStack() as stack:
        if tool:
            asked = diagnoser_of(tool, stream=True, timeout=timeout)
            stack.callback(asked.close)
            materials["tool"] = of_tool(asked)
        for name, material in materials.items():
            found[name] = score(
                all_sets(sets),
                lambda material=material: Reader(command, material, timeout),  # type: ignore[misc]
                only=only,
                jobs=1 if name == "tool" else jobs,
                report=_progress(name),
            )
            sys.stderr.write("\n" if found[name] else "no cases\n")
    if out is not None:
        out.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
    click.echo(table(found))


@main.command("sets")
def sets_command() -> None:
    """List the sets."""
    for each in all_sets():
        click.echo(
            f"{each.name:24}{len(each.cases):5} cases{len(each.recorded):5} recordings  "
            f"{each.info.title}"
        )


@main.command("cases")
@click.argument("sets", nargs=-1)
def cases_command(sets: Sequence[str]) -> None:
    """List the cases of SETS, or of all, with the causes that are right."""
    for each in all_sets(sets):
        for name, case in each.cases.items():
            causes = " or ".join(case.causes) or "succeeds"
            click.echo(f"{each.name}/{name}: {causes}: {case.text}")


@main.command("causes")
def causes_command() -> None:
    """List the words for causes, by kind of failure."""
    for group, causes in GROUPS.items():
        click.echo(f"{group}: {', '.join(causes)}")


@main.command("unpack")
@click.argument("name", metavar="SET")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def unpack_command(name: str, folder: Path) -> None:
    """Write the files of SET into FOLDER: scripts, expectations, recordings, answers."""
    for each in all_sets([name]):
        each.unpack(folder)
        click.echo(f"{folder} has the files of {each.name}")


@main.command("baseline")
@click.argument("name", type=click.Choice(list(BASELINES)))
def baseline_command(name: str) -> None:
    """Answer requests, a line each, as a diagnoser does (--stream)."""
    for line in sys.stdin:
        request = msgspec.json.decode(line, type=Request)
        answer = msgspec.json.encode(BASELINES[name](request))
        click.echo(answer.decode())
