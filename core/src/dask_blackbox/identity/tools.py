"""What a command line does: the script, or what a tool that runs jobs was asked to run.

`kedro run --pipeline sales` is the pipeline, `make nightly` the target: all jobs of a machine
would share one history if the tool named them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from dask_blackbox.patterns import bounded

_ASSIGNMENT = bounded(r"[A-Za-z_][\w.]*=")
_COUNTS = ("-j", "--jobs", "-c", "--cores", "-l")
_COUNT = bounded(r"\d+(?:\.\d+)?|all")
_DEFAULT_FILES = ("snakefile", "makefile", "gnumakefile")


class _Tool(NamedTuple):
    """A program that runs what its arguments name.

    Attributes:
        verbs: Subcommands that run something; none: it always does.
        named: Options whose value is the name.
        one: Options that take the next word.
        bare: The first word that is no option is the name.
        file: Options whose value is a file; without a name its own one counts, unless it
            is called as the tool's files are by default.
        folder: Without a name it runs the default of the current folder, whose name counts.
        after: Words with this ending come before the name (`flow.py` before the workflow).
    """

    verbs: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    one: str = ""
    bare: bool = False
    file: tuple[str, ...] = ()
    folder: bool = False
    after: str = ""


_MAKE = _Tool(
    one="-I --include-dir -o --old-file -W --what-if -C --directory",
    bare=True,
    file=("-f", "--file", "--makefile"),
    folder=True,
)
_TOOLS: Mapping[str, _Tool] = {
    # https://luigi.readthedocs.io/en/stable/running_luigi.html
    "luigi": _Tool(
        one="--module --scheduler-host --scheduler-port --scheduler-url --workers --log-level"
        " --logging-conf-file --lock-pid-dir --lock-size --parallel-scheduling-processes",
        bare=True,
    ),
    # https://docs.kedro.org/en/stable/getting-started/commands_reference/
    "kedro": _Tool(
        verbs=("run",), named=("--pipeline", "-p", "--pipelines"), folder=True
    ),
    # https://snakemake.readthedocs.io/en/stable/executing/cli.html
    "snakemake": _Tool(
        one="-d --directory --configfile --configfiles --profile --workflow-profile -e"
        " --executor --conda-prefix --latency-wait -w --retries -T --config -C --resources"
        " --res --shared-fs-usage --group-components",
        bare=True,
        file=("-s", "--snakefile"),
        folder=True,
    ),
    "make": _MAKE,
    "gmake": _MAKE,
    # https://docs-legacy.flyte.org/en/latest/api/flytekit/pyflyte.html
    "pyflyte": _Tool(
        verbs=("run",),
        one="-p --project -d --domain -i --image --service-account --name -D -c --config"
        " --destination-dir --raw-output-data-prefix --max-parallelism --env --label",
        bare=True,
        after=".py",
    ),
    # https://docs.dagster.io/api/clis/cli
    "dagster": _Tool(verbs=("job", "asset", "run"), named=("-j", "--job", "--select")),
}


def script_of(argv: Sequence[str]) -> str | None:
    """Return the name of what was started (`etl` for `python jobs/etl.py`), if it has one."""
    path = PurePath(argv[0] if argv else "")
    if path.name in {"", "-", "-c", "-m"}:
        return None
    # `python -m package` arrives as the path of package/__main__.py.
    name = path.parent.name or None if path.name == "__main__.py" else path.stem
    tool = _TOOLS.get(name or "")
    return (tool and _target(tool, argv[1:])) or name


def _target(tool: _Tool, words: Sequence[str]) -> str | None:
    """Return what a tool was asked to run; None: nothing, or that cannot be seen."""
    if tool.verbs and (not words or words[0] not in tool.verbs):
        return None
    arguments = [*_arguments(tool, words)]
    given = dict(arguments)
    for option in tool.named:
        if given.get(option):
            return given[option]
    bare = [value for option, value in arguments if not option][len(tool.verbs) and 1 :]
    return (_bare_name(tool, bare) if tool.bare else None) or _default(tool, given)


def _bare_name(tool: _Tool, words: Sequence[str]) -> str | None:
    """Return the first word that is a name, or else the file before it."""
    names = [PurePath(each) for each in words if not _ASSIGNMENT.match(each)]
    after = [each for each in names if not tool.after or each.suffix != tool.after]
    if after:
        return after[0].name
    return names[0].stem if names else None


def _default(tool: _Tool, given: Mapping[str, str]) -> str | None:
    """Return what names the job of a tool that was given no name: its file, its folder."""
    file = PurePath(next((given[each] for each in tool.file if each in given), ""))
    if file.name and file.name.lower() not in _DEFAULT_FILES:
        return file.stem
    return _folder(given) if tool.folder else None


def _arguments(tool: _Tool, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield options with their values, and other words without an option."""
    takes = {*tool.one.split(), *tool.named, *tool.file}
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        option, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            yield "", word
        elif equals:
            yield option, value
        elif place < len(words) and (
            word in takes or (word in _COUNTS and _COUNT.fullmatch(words[place]))
        ):
            yield word, words[place]
            place += 1
        else:
            yield word, ""


def _folder(given: Mapping[str, str]) -> str | None:
    """Return the name of the folder in which a tool runs its default."""
    where = given.get("-C") or given.get("--directory") or given.get("-d") or ""
    try:
        return (Path.cwd() / where).resolve().name or None
    except OSError:
        return None
