"""The index of the kept recordings: what each holds, without opening an archive.

.venvs/core/bin/python tests/recordings/kept_index.py    # writes kept/README.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keeping import KEPT, Kept, kept

__all__ = ["INDEX", "index"]

INDEX = KEPT / "README.md"

_HEAD = """\
# Kept recordings

Written by `.venvs/core/bin/python tests/recordings/kept_index.py`.
A recording is a folder in the archive of its section, and the case of the same name made it:
the expected rules, the names that the verdict must contain and accepted exceptions stand there.
"""


def index() -> str:
    """Return the index of all archives, as Markdown."""
    return "\n".join([_HEAD, *(_section(each) for each in sorted(KEPT.glob("*.xz")))])


def _section(archive: Path) -> str:
    rows = "\n".join(_rows(archive))
    return (
        f"## {archive.name}\n\n"
        "| recording | state | tasks | workers | exception of the driver |\n"
        f"|---|---|---|---|---|\n{rows}\n"
    )


def _rows(archive: Path) -> Iterator[str]:
    for each in sorted(kept(archive), key=lambda one: one.name):
        ending = each.run.ending
        state = "no end" if ending is None else ending.state
        yield (
            f"| `{each.name}` | {state} | {len(each.run.tasks):,} | "
            f"{len(each.run.workers):,} | {_exception(each)} |"
        )


def _exception(recording: Kept) -> str:
    ending = recording.run.ending
    if ending is None or ending.exception is None:
        return ""
    return f"`{ending.exception.exception}`"


if __name__ == "__main__":
    INDEX.write_text(index(), "utf-8")
