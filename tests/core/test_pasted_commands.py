"""Every command that we print can be pasted: cards, `why`, errors, help texts, the docs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import dask
import pytest
from click.testing import CliRunner, Result
from dask_blackbox import Run
from dask_blackbox.cli import EXAMPLES, VERBS, blackbox
from dask_blackbox.cli.options import Verb
from dask_blackbox.formatting import command, store_of
from dask_blackbox.reader.earlier_runs import write_sketch
from dask_blackbox.testing import (
    EPOCH,
    EmbeddedS3,
    a_log,
    a_task_error,
    a_worker_added,
    an_event,
)
from distributed import LocalCluster
from stored_runs import Shelf

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_FENCED = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`(dask blackbox [^`\n]+)`")
_PRINTED = re.compile(
    r"(?:^\s*\$ |`)(dask blackbox [^`\n]+|python -c [^\n]+)`?", re.MULTILINE
)
_SYNOPSIS = re.compile(r"[\[\]…|<>]|\b[A-Z]{2,}\b|\.\.\.|^dask blackbox VERB")
_OF_HOSTS = frozenset(("prefect",))
"""Verbs that a host's package adds: they are tested in its own environment."""
_STARTS = frozenset(("run", "record", "serve", "mcp", "sync", "replay"))
"""Verbs that start processes or ask, as `--push` does: others' tests run them; here they are
parsed."""

_REPORTS = frozenset(("check", "watch"))
"""Verbs that end with 3 where they find something."""

_FRAME = {"name": "load", "filename": "etl.py", "line_number": 3, "line": "x = 1"}
PROFILE = {
    "count": 9,
    "identifier": "root",
    "description": {"name": "", "filename": "", "line_number": 0, "line": ""},
    "children": {
        "load;etl.py;3": {
            "count": 9,
            "identifier": "load;etl.py;3",
            "description": _FRAME,
            "children": {},
        }
    },
}
"""What Dask merges of nine samples in one function."""
PROFILED = an_event("profile", tree=PROFILE)


def typed(*words: str) -> Result:
    return CliRunner().invoke(blackbox, words, catch_exceptions=False)


def pasted(line: str) -> None:
    """Run a command as a shell would; fail if it does."""
    words = shlex.split(line, comments=True)
    if words[0] == "python":
        subprocess.run([sys.executable, *words[1:]], check=True, capture_output=True)
        return
    assert words[:2] == ["dask", "blackbox"]
    verb, rest = words[2], words[3:]
    # `doctor --recorders` is about the machine: other tests' recorders run on it.
    if verb in _STARTS or not {"--recorders", "--push"}.isdisjoint(rest):
        module: click.Command = getattr(
            import_module(f"dask_blackbox.cli.{verb}"), verb
        )
        module.make_context(verb, rest)
        return
    result = typed(verb, *rest)
    expected = (0, 3) if verb in _REPORTS else (0,)
    assert result.exit_code in expected, f"{line}\n{result.output}"


def filled(shelf: Shelf) -> Shelf:
    """Put on a shelf the runs that docs and help texts speak of."""
    for number, (run_id, state) in enumerate(
        [("run-6", "succeeded"), ("run-7", "failed"), ("run-7", "failed")]
    ):
        facts = [
            a_worker_added(name="bob"),
            a_log("spilled to disk: memory is full", level=40),
            PROFILED,
        ]
        if state == "failed":
            facts.append(a_task_error("('load-1', 3)", at=3))
        at = shelf.record(
            "nightly",
            run_id,
            *facts,
            attempt=2 if number == 2 else 1,
            started=EPOCH + 60 * number,
            state=state,
        )
        run = Run.at(shelf.store, at)
        card = run.card()
        write_sketch(shelf.store, run, card)
        shelf.store.put(f"{at.folder}card.json", card.to_json())
    return shelf


@pytest.fixture(scope="module")
def bucket(s3: EmbeddedS3) -> dict[str, object]:
    """Fill a bucket `dask-runs`; return the settings by which it is reached."""
    s3.client().create_bucket(Bucket="dask-runs")
    settings = {f"blackbox.store.{k}": v for k, v in s3.settings.items()}
    with dask.config.set(settings):
        for each in ("etl", "shop", "shared"):
            filled(Shelf(f"s3://dask-runs/{each}"))
    return settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a filled store `./runs`."""
    folder = tmp_path_factory.mktemp("here")
    filled(Shelf(folder / "runs"))
    return folder


@pytest.fixture
def there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, bucket: dict[str, object]
) -> Iterator[Shelf]:
    """Stand where the docs stand: beside a store `./runs`, with a bucket `dask-runs`."""
    monkeypatch.chdir(folder)
    with dask.config.set(bucket | {"blackbox.store.url": str(folder / "runs")}):
        yield Shelf(folder / "runs")


def printed_by(text: str) -> list[str]:
    found: list[str] = _PRINTED.findall(text)
    return found


def test_the_commands_of_a_card_and_of_why_work(
    there: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Run.at(
        there.store,
        there.record(
            "nightly",
            "x",
            a_task_error("k-1"),
            PROFILED,
            state="failed",
            started=EPOCH + 999,
        ),
    ).card()
    printed = typed("why", "nightly/run-7", "--store", there.url).stdout
    # Elsewhere, and without the setting: the store is part of what is printed.
    monkeypatch.chdir("/")
    with dask.config.set({"blackbox.store.url": str(tmp_path / "another")}):
        commands = printed_by(printed)
        if card.past is not None and card.past.compare:
            commands.append(card.past.compare)
        assert len(commands) >= 3
        assert any("compare" in each for each in commands)
        for each in commands:
            pasted(each)


@pytest.mark.parametrize("name", ["nightle", "nightly/run-9"])
def test_the_commands_of_an_error_work(there: Shelf, name: str) -> None:
    printed = typed("show", name, "--store", there.url).stderr

    commands = printed_by(printed)
    assert len(commands) == 1
    pasted(commands[0])


def test_names_with_blanks_and_quotes_survive_a_shell(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "it's my store")
    shelf.record("nightly", "run-1")

    [line] = printed_by(typed("show", "x", "--store", shelf.url).stderr)

    pasted(line)
    assert store_of(f"{shelf.url}/runs/job=a/run=b/attempt=1/") == shelf.url
    assert shlex.split(command("show", "a b", store="c d"))[3:] == [
        "a b",
        "--store",
        "c d",
    ]


def _examples() -> Iterator[str]:
    for verb in VERBS:
        module = getattr(import_module(f"dask_blackbox.cli.{verb}"), verb)
        assert isinstance(module, Verb)
        yield from module.examples
    yield from EXAMPLES


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Return the address of a scheduler."""
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize("example", list(_examples()))
def test_the_examples_of_the_help_texts_work(
    there: Shelf,
    scheduler: str,
    example: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    (tmp_path / "job.log").write_text("password=correct-horse-battery\n")
    dry = " --dry-run" if example.startswith(("rm", "prune")) else ""
    placed = example.replace("tcp://127.0.0.1:8786", scheduler)
    placed = placed.replace("job.log", str(tmp_path / "job.log"))

    pasted(f"dask blackbox {placed}{dry}")


def _documented() -> Iterator[str]:
    for page in PAGES:
        text = page.read_text()
        lines = [
            line.removeprefix("$ ")
            for block in _FENCED.findall(text)
            for line in block.splitlines()
        ]
        for line in [*lines, *_INLINE.findall(text)]:
            named = len(line.split()) == 3 and line not in lines  # in a sentence
            if (
                line.startswith("dask blackbox ")
                and not named
                and line.split()[2] not in _OF_HOSTS
                and not _SYNOPSIS.search(line)
            ):
                yield line


@pytest.mark.parametrize("line", sorted(set(_documented())))
def test_the_commands_of_the_docs_work(
    there: Shelf, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    deletes = line.split()[2] in ("rm", "prune")
    pasted(line + (" --dry-run" if deletes and "--dry-run" not in line else ""))
