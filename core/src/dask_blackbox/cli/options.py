"""What several commands share: options for a store, a run or a job, examples, the terminal."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:  # heavy: the verbs import them when they run
    from dask_blackbox.card import RunCard
    from dask_blackbox.reader import Run
    from dask_blackbox.store import Store


_F = TypeVar("_F", bound=Callable[..., object])


class Verb(click.Command):
    """A command whose help ends with examples.

    Args:
        examples: Commands as they are typed, after `dask blackbox`.
    """

    def __init__(
        self, name: str | None, *, examples: Sequence[str], **kwargs: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self.examples = tuple(examples)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; report a store folder that does not exist before a missing run."""
        from dask_blackbox.errors import RunNotFoundError

        try:
            return super().invoke(ctx)
        except RunNotFoundError as error:
            require_folder(error.where)
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, one to a line however long."""
        formatter.write(examples_of(self.examples))


def examples_of(examples: Sequence[str]) -> str:
    """Return examples as a section of a help text."""
    lines = "".join(f"  dask blackbox {each}\n" for each in examples)
    return f"\nExamples:\n{lines}"


def store_option(command: _F) -> _F:
    """Add the option `--store` to a command."""
    return click.option(
        "--store",
        "store_url",
        metavar="URL",
        help="Store of the recordings: s3://bucket/prefix or a folder. Default: "
        "blackbox.store.url.",
    )(command)


def run_argument(command: _F) -> _F:
    """Add the argument RUN to a command; default: the newest run."""
    return click.argument(
        "name",
        metavar="[RUN]",
        default="latest",
        required=False,
        shell_complete=runs_beginning,
    )(command)


def job_option(command: _F) -> _F:
    """Add the option `--job`, with completion, to a command."""
    return click.option(
        "--job",
        metavar="JOB",
        help="Only runs of this job.",
        shell_complete=jobs_beginning,
    )(command)


def links_option(command: _F) -> _F:
    """Add the option `--links` to a command."""
    return click.option(
        "--links/--no-links",
        default=None,
        help="Print presigned links, which open without a login. Default: on a terminal "
        "only (blackbox.print-links).",
    )(command)


def junit_option(command: _F) -> _F:
    """Add the option `--junit` to a command."""
    return click.option(
        "--junit",
        "junit_path",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="PATH",
        help="Write the run to this file as JUnit XML, for GitLab and Jenkins.",
    )(command)


def printable(card: RunCard, links: bool | None, *, terminal: bool) -> RunCard:  # noqa: FBT001
    """Return a card as it may be printed: in logs, presigned links are for everyone.

    Args:
        links: What `--links` says; None: as the settings have it.
        terminal: Whether it is printed to a terminal.
    """
    from dask_blackbox.card import without_presigned_links
    from dask_blackbox.settings import setting

    if links is None:
        # At the end of a command, a mistake in a setting must not change its exit code.
        links = {"terminal": terminal, "always": True}.get(str(setting("print-links")))
    return card if links else without_presigned_links(card)


def opened_store(url: str | None) -> Store:
    """Return the store that `--store` or the settings name."""
    from dask_blackbox.store import open_store

    return open_store(url)


def require_folder(url: str) -> None:
    """Check that the folder of a store exists; for buckets, S3 reports that itself.

    Raises:
        StoreNotFoundError: if the store is a folder that does not exist.
    """
    from dask_blackbox.errors import StoreNotFoundError
    from dask_blackbox.store.url import Bucket, place_of

    place = place_of(url)
    if isinstance(place, Bucket) or place.is_dir():
        return
    raise StoreNotFoundError(
        f"there is no folder {place}; name the store that your runs record into with `--store` or the "
        "setting `blackbox.store.url` (`dask blackbox doctor` shows what is set)"
    )


def opened_run(store: Store, name: str) -> Run:
    """Return the recording that RUN names."""
    from dask_blackbox.reader import find_run

    return find_run(store, name)


def runs_beginning(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete RUN."""
    return _completions(ctx, incomplete)


def jobs_beginning(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete JOB."""
    return [each for each in _completions(ctx, incomplete) if each.value != "latest"]


def _completions(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    from dask_blackbox.errors import BlackboxError
    from dask_blackbox.reader.run_lookup import beginning_runs

    try:
        store = opened_store(ctx.params.get("store_url"))
        return [CompletionItem(each) for each in beginning_runs(store, incomplete)]
    except BlackboxError:  # a shell has no line for it
        return []


class Screen(NamedTuple):
    """How to print.

    Attributes:
        width: Columns of the terminal; None where the output goes elsewhere.
        colour: Whether colours are wanted: not on a dumb terminal, nor with NO_COLOR.
    """

    width: int | None
    colour: bool


def print_rendered(render: Callable[..., str], *, piped: int = 100) -> None:
    """Print a text as wide as the terminal, and in its colours.

    Args:
        render: Makes the text; takes `width` and `colour`.
        piped: Columns where the output goes elsewhere.
    """
    shown_on = screen()
    click.echo(render(width=shown_on.width or piped, colour=shown_on.colour))


def screen() -> Screen:
    """Return how to print on standard output."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        return Screen(None, colour=False)
    plain = console.no_color or console.is_dumb_terminal
    return Screen(console.width, colour=not plain)


def snapshots_of(store: Store, run: Run, interval: float) -> Iterator[Run]:
    """Yield the recording as it is now, every so many seconds; at last when it has ended."""
    from dask_blackbox.reader import Run

    yield run
    while run.state == "running":
        time.sleep(interval)
        run = Run.at(store, run.folder)
        yield run


_NAMES = (
    "dask-blackbox",
    "airflow-provider-dask-blackbox",
    "prefect-dask-blackbox",
    "dask",
    "distributed",
    "apache-airflow",
    "prefect",
    "boto3",
)


def versions() -> dict[str, str]:
    """Return the versions of the packages that are installed, ours first, and of Python."""
    found: dict[str, str] = {}
    for name in _NAMES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"python": platform.python_version()}
