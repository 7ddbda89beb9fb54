"""`dask blackbox replay`: run the task that failed again, with the inputs that it had."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    run_argument,
    store_option,
)
from dask_blackbox.errors import ConfigurationError, RecordingError
from dask_blackbox.formatting import listed
from dask_blackbox.patterns import bounded

if TYPE_CHECKING:  # heavy: imported when it runs
    from dask_blackbox.capture.worker.bundle_file import TaskBundle
    from dask_blackbox.reader import Run

import io
import pickletools
from collections.abc import Iterable, Mapping

_WEIGHTY = (
    "dask",
    "distributed",
    "cloudpickle",
    "numpy",
    "pandas",
    "pyarrow",
    "polars",
)
_TEXTS = frozenset(("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"))
_GETS = frozenset(("BINGET", "LONG_BINGET", "GET"))


def names_in(pickled: bytes | memoryview) -> set[str]:
    """Return the dotted names that a pickle would import, as far as they can be read."""
    found: set[str] = set()
    memo: list[object] = []
    last: list[object] = []
    try:
        for opcode, arg, _ in pickletools.genops(io.BytesIO(pickled)):
            name = opcode.name
            if name == "MEMOIZE":
                memo.append(last[-1] if last else None)
                continue
            if name == "GLOBAL":
                found.add(str(arg).replace(" ", "."))
            elif name == "STACK_GLOBAL" and len(last) > 1:
                found.add(f"{last[-2]}.{last[-1]}")
            if name in _TEXTS:
                last.append(arg)
            elif name in _GETS and isinstance(arg, int) and arg < len(memo):
                last.append(memo[arg])
            else:
                last.append(None)
            del last[:-2]
    except ValueError:  # not a pickle: unpickling will say so
        pass
    return found


def differences(
    there: Mapping[str, Any], here: Mapping[str, Any], modules: Iterable[str]
) -> list[str]:
    """Return what differs between the worker's environment and this one, gravest first.

    Args:
        here: Of the interpreter that is to run the task.
        modules: Top-level modules that the pickle names.
    """
    found = []
    old, new = str(there.get("python")), str(here.get("python"))
    if old != new:
        found.append(f"Python {old} on the worker, {new} here{_bytecode(old, new)}")
    was, now = there.get("packages") or {}, here.get("packages") or {}
    weighty = [*_WEIGHTY, *(each.lower().replace("_", "-") for each in modules)]
    differing = dict.fromkeys(
        name for name in weighty if was.get(name) != now.get(name)
    )
    found += [
        f"{name} {was[name]} on the worker, {now.get(name, 'missing')} here"
        for name in differing
        if name in was
    ]
    others = [n for n in was if n not in differing and n in now and was[n] != now[n]]
    if others:
        shown = listed([f"{n} {was[n]} → {now[n]}" for n in others], most=5)
        found.append(f"different versions of {shown}")
    return found


def _bytecode(old: str, new: str) -> str:
    if old.split(".")[:2] == new.split(".")[:2]:
        return ""
    return (
        " (functions pickled by value, such as those of a script, contain bytecode, "
        "which another minor version cannot run: use --python)"
    )


_OTHER, _NONE, _DIED = 3, 4, 5
_RERUN = Path(__file__).with_name("rerun.py")
_DESCRIBING = 60.0
_MOST_NAMES = 40
_ADDRESS = bounded(r"0x[0-9a-f]{4,}")


@click.command(
    cls=Verb,
    examples=[
        "replay --trust ./runs nightly",
        "replay nightly/run-7 --pdb",
    ],
)
@run_argument
@store_option
@click.option(
    "--key", metavar="KEY", help=("Task to rerun, if the recording contains several.")
)
@click.option(
    "--pdb",
    "debug",
    is_flag=True,
    help="Start the debugger where the exception is raised.",
)
@click.option(
    "--python",
    metavar="PATH",
    default=sys.executable,
    help="Interpreter to use; it needs Dask, not dask-blackbox.",
)
@click.option(
    "--trust",
    metavar="URL",
    multiple=True,
    help="Trust this store, in addition to blackbox.replay.trusted.",
)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def replay(
    *,
    name: str,
    store_url: str | None,
    key: str | None,
    debug: bool,
    python: str,
    trust: tuple[str, ...],
    yes: bool,
) -> None:
    """Rerun a failed task of RUN with its inputs, in a new process.

    This unpickles data from the store, and unpickling can run any code; it reads only
    stores that you declare as trusted.  Only runs recorded with blackbox.capture.values
    contain the inputs of failed tasks.  Exits with 0 if the recorded exception is raised again, 3 for
    another exception, 4 for none, 5 if the process dies.
    """
    from dask_blackbox.reader.task_bundles import find_bundle, is_trusted
    from dask_blackbox.settings import setting

    run = opened_run(opened_store(store_url), name)
    bundle = find_bundle(run, key)
    names = _show(bundle)
    _compare(bundle, python, names)
    url = run.store.url
    if not is_trusted(url, (*trust, *setting("replay.trusted"))):
        raise ConfigurationError(
            f""
            f"{url} is not a trusted store, and unpickling from it can run any code "
            f"here; if nobody else can write there, use --trust {url} or add it to the "
            "setting"
            " blackbox.replay.trusted"
        )
    click.echo(
        f"\nTo rerun it, this is UNPICKLED with {python}: anyone who can write to "
        f"{url} can run any code here.",
        err=True,
    )
    if not yes:
        click.confirm("Continue?", abort=True, err=True)
    raise SystemExit(_judged(run, bundle, _rerun(bundle, python, debug=debug)))


def _show(bundle: TaskBundle) -> set[str]:
    """Print what the bundle holds; return the names that it would import."""
    facts = bundle.facts
    click.echo(f"{facts['key']}  {facts['exception']}: {facts['message'][:200]}")
    click.echo(f"  on {facts['worker']}\n  holds")
    for part in facts["parts"]:
        of = "" if part["kind"] == "task" else f"  {part['name']}"
        click.echo(
            f"    {part['kind']:<5}  {part['size']:>12,} bytes  {part['type']}{of}"
        )
    for out in facts.get("left_out", ()):
        click.echo(
            f"    left out: {out['name']} ({out.get('type', '?')}): {out['why']}"
        )
    if facts.get("redacted"):
        click.echo(f"    redacted: {', '.join(facts['redacted'])}")
    names = set().union(*(names_in(part) for part in bundle.parts))
    click.echo(f"  imports {listed(sorted(names), most=_MOST_NAMES)}")
    return names


def _compare(bundle: TaskBundle, python: str, names: set[str]) -> None:
    """Print how this interpreter's environment differs from the worker's."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own choice
            [python, str(_RERUN), "describe"],
            capture_output=True,
            text=True,
            timeout=_DESCRIBING,
            check=True,
        )
        here = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ConfigurationError(
            f"--python {python} cannot be run: {error}; give the path of an "
            "interpreter "
            "whose environment has Dask"
        ) from error
    if "dask" not in here["packages"]:
        raise ConfigurationError(f"the environment of {python} has no Dask")
    there = bundle.facts.get("environment") or {}
    modules = {name.partition(".")[0] for name in names}
    found = differences(there, here, sorted(modules))
    for each in found:
        click.echo(f"  ! {each}")
    if not found:
        click.echo("  same Python and packages as on the worker")


def _rerun(bundle: TaskBundle, python: str, *, debug: bool) -> dict[str, object]:
    """Run the task in its own process; return its outcome."""
    with tempfile.TemporaryDirectory(prefix="dask-blackbox-replay-") as folder:
        there = [
            part["input"] for part in bundle.facts["parts"] if part["kind"] == "input"
        ]
        left_out = {
            str(each["input"]): each["name"] for each in bundle.facts["left_out"]
        }
        for part, blob in zip(bundle.facts["parts"], bundle.parts, strict=True):
            file = "task" if part["kind"] == "task" else f"input-{int(part['input'])}"
            (Path(folder) / file).write_bytes(blob)
        plan = json.dumps({"inputs": there, "left_out": left_out})
        (Path(folder) / "plan.json").write_text(plan, "utf-8")
        command = [python, str(_RERUN), "run", folder, *(["--pdb"] if debug else [])]
        code = subprocess.call(command)  # noqa: S603 - as above
        try:
            answer: dict[str, object] = json.loads(
                (Path(folder) / "outcome.json").read_text("utf-8")
            )
        except (OSError, ValueError):
            return {"outcome": "died", "code": code}
    return answer


def _judged(run: Run, bundle: TaskBundle, answer: dict[str, Any]) -> int:
    """Return whether it is the recorded exception; return the exit code."""
    from dask_blackbox.recorder.redact import Redactor
    from dask_blackbox.settings import setting_patterns

    if answer["outcome"] == "died":
        click.echo(f"\nThe process died (exit code {answer['code']}).", err=True)
        return _DIED
    if answer["outcome"] == "unreadable":
        raise RecordingError(
            f"it cannot be unpickled here: {answer['exception']}: {answer['message']}; run "
            "it where its modules can be imported, or with --python"
        )
    if answer["outcome"] == "returned":
        click.echo(f"\nNo exception: the task returned a {answer['type']}.", err=True)
        return _NONE
    was = _recorded(run, bundle)
    message = Redactor(setting_patterns("redact")).text(answer["message"])
    now = (answer["exception"], message)
    if _alike(was) == _alike(now):
        click.echo(f"\nThe same exception as recorded: {was[0]}.", err=True)
        return 0
    click.echo(
        f"\nA different exception than recorded: {was[0]}: {was[1][:300]}", err=True
    )
    return _OTHER


def _recorded(run: Run, bundle: TaskBundle) -> tuple[str, str]:
    import polars as pl

    errors = run.errors.filter(pl.col("key") == bundle.facts["key"])
    errors = errors.filter(pl.col("outcome") != "killed")
    for row in errors.sort("at").tail(1).iter_rows(named=True):
        return row["exception"], row["message"]
    return bundle.facts["exception"], bundle.facts["message"]


def _alike(error: tuple[str, str]) -> tuple[str, str]:
    """Return class and text without what differs from one process to the next."""
    kind, message = error
    return kind.rpartition(".")[2], _ADDRESS.sub("0x…", message[:2_000])
