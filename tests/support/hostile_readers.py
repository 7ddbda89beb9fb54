"""Has every reader read a store: `python hostile_readers.py STORE BYTES`, prints what failed.

It is a process of its own with a limit of memory, so that a reader that takes too much of it
fails the test instead of the machine.  Each recording of the store but `good/g1` may be
hostile; none of them may hide that one.
"""

from __future__ import annotations

import resource
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from app_server import page_of, served
from click.testing import CliRunner, Result
from dask_blackbox.cli import blackbox
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader import RunEntry, marked_runs
from dask_blackbox.serve import create_app
from dask_blackbox.store import open_store

GOOD = "good/g1"


def _dask(*words: str) -> Result:
    return CliRunner().invoke(blackbox, [*words])


def _problems(store: str, work: Path) -> Iterator[str]:
    names = sorted(
        {
            f"{each.address.job}/{each.address.run}/{each.address.attempt}"
            for each in _runs(store)
        }
    )
    bad = [name for name in names if not name.startswith(GOOD)]
    yield from _whole_store(store)
    for name in bad:
        for words in (
            ("show", name, "--verify"),
            ("show", name, "--json"),
            ("why", name),
            ("logs", name),
            ("compare", name, GOOD),
            ("compare", GOOD, name),
            ("report", name, "--output", str(work / "report.html")),
            ("export", name, "--format", "parquet", "--output", str(work / "tables")),
            ("export", name, "--format", "perfetto", "--output", str(work / "trace")),
            ("history", name.partition("/")[0]),
            ("rm", name, "--dry-run"),
        ):
            yield from _crash(words, _dask(*words, "--store", store))
    yield from _pages(store, bad)


def _whole_store(store: str) -> Iterator[str]:
    for words in (
        ("ls", "--limit", "500"),
        ("ls", "--limit", "500", "--json"),
        ("ls", "--limit", "500", "--state", "succeeded"),
        ("prune", "--older-than", "1s", "--dry-run"),
    ):
        result = _dask(*words, "--store", store)
        yield from _crash(words, result)
        if "good/g1" not in result.output and '"run": "good/g1' not in result.output:
            yield f"{words}: hides the good run"
    for verb, *names in (("logs", GOOD), ("why", GOOD), ("history", "good")):
        result = _dask(verb, *names, "--store", store)
        yield from _crash((verb,), result)
        if result.exit_code:
            yield f"{verb}: {result.output}"
    yield from _crash(("doctor",), _dask("doctor", "--store", store))


def _crash(words: tuple[str, ...], result: Result) -> Iterator[str]:
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        lines = traceback.format_exception(error)
        yield f"{words}: {''.join(lines[-4:])}"


def _pages(store: str, bad: list[str]) -> Iterator[str]:
    with served(create_app(open_store(store))) as ask:
        for path in (
            "/",
            "/logs?filter=hello&job=good",
            "/?text=g1",
            "/api/runs?limit=500",
        ):
            page = ask(path)
            if page.status != 200 or "good" not in page.text:
                yield f"{path}: {page.status}, hides the good run"
        for name in bad:
            job, run, attempt = name.split("/")
            at = page_of(RunAddress(job, run, int(attempt)))
            for path in (
                at,
                f"{at}/logs",
                f"{at}/files",
                f"{at}/report.html",
                f"{at}/performance_report.html",
                f"{at}/files/card.json",
                f"{at}/export/perfetto",
                f"/api{at}/card",
                f"/api{at}/logs",
                f"/jobs/{job}",
                f"/compare?before={GOOD}&after={name}",
            ):
                page = ask(path)
                if page.status == 500 and page.text == "Internal Server Error":
                    yield f"{path}: an error that nothing caught"
                if "root:x:0:0" in page.text:
                    yield f"{path}: a file outside of the store"


def _runs(store: str) -> Iterator[RunEntry]:
    return marked_runs(open_store(store))


def _main(store: str, most: int) -> int:
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    work = Path(store).with_name("work")
    work.mkdir(exist_ok=True)
    found = list(_problems(store, work))
    print("\n".join(found))
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
    return bool(found)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], int(sys.argv[2])))
