"""The index of the kept recordings: what each holds, without opening an archive.

.venvs/core/bin/python tests/recordings/kept_index.py    # writes kept/README.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from case_runner import load_failures
from keeping import KEPT, Kept, Kind, archives, kept
from scripts.run import load_cases
from workload import all_workloads

__all__ = ["INDEX", "index"]

INDEX = KEPT / "README.md"

_HEAD = """\
# Kept recordings

Written by `.venvs/core/bin/python tests/recordings/kept_index.py`.
A recording is a folder in the archive of its section.
`expected` is what the case must be reported as: its verdict, or the findings of a run that succeeds.
`set` is the set of cases that were diagnosed once before any fix; no set: rules may be developed with it.
`accepted` is why another answer is no fault.
The case of the same name is in `failures/`, in `scripts/` in the folder of its cause, or in a module of workloads; it has the names that the verdict must contain as well.
"""


class _Case(NamedTuple):
    """What is expected of a case.

    Attributes:
        rules: Verdicts that are right, or findings that there must be.
        held_out: Its set.
        accepted: Why another answer is no fault.
    """

    rules: tuple[str, ...]
    held_out: str = ""
    accepted: str = ""


def index() -> str:
    """Return the index of all archives, as Markdown."""
    sections = (
        _section(archive, cases)
        for kind, read in _CASES.items()
        for cases in [dict(read())]  # names are unique within a kind
        for archive in archives(kind)
    )
    return "\n".join([_HEAD, *sections])


def _failures() -> Iterator[tuple[str, _Case]]:
    for name, each in load_failures().items():
        yield name, _Case(each.causes, each.held_out, each.accepted)


def _workloads() -> Iterator[tuple[str, _Case]]:
    for module in all_workloads().values():
        for name, each in module.items():
            yield name, _Case(each.must)


def _scripts() -> Iterator[tuple[str, _Case]]:
    for name, each in load_cases().items():
        which = f"scripts: {each.set}" if each.set else ""
        yield name.rpartition("/")[2], _Case(each.slugs, which, each.accepted)


_CASES: Mapping[Kind, Callable[[], Iterator[tuple[str, _Case]]]] = {
    "failures": _failures,
    "scripts": _scripts,
    "workloads": _workloads,
}


def _section(archive: Path, cases: Mapping[str, _Case]) -> str:
    rows = "\n".join(_rows(archive, cases))
    return (
        f"## {archive.name}\n\n"
        "| recording | expected | set | state | tasks | workers | exception of the driver | accepted |\n"
        f"|---|---|---|---|---|---|---|---|\n{rows}\n"
    )


def _rows(archive: Path, cases: Mapping[str, _Case]) -> Iterator[str]:
    for each in sorted(kept(archive), key=lambda one: one.name):
        ending, case = each.run.ending, cases[each.name]
        state = "no end" if ending is None else ending.state
        expected = " or ".join(f"`{rule}`" for rule in case.rules)
        yield (
            f"| `{each.name}` | {expected} | {case.held_out} | {state} | "
            f"{len(each.run.tasks):,} | {len(each.run.workers):,} | "
            f"{_exception(each)} | {case.accepted} |"
        )


def _exception(recording: Kept) -> str:
    ending = recording.run.ending
    if ending is None or ending.exception is None:
        return ""
    return f"`{ending.exception.exception}`"


if __name__ == "__main__":
    INDEX.write_text(index(), "utf-8")
