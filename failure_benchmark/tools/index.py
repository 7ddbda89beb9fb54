"""Write the pages that list the cases of each set, and the checksums of the archives.

.venvs/core/bin/python failure_benchmark/tools/index.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from dask_failures import Case, FailureSet, all_sets
from dask_failures.sets import ARCHIVES

__all__ = ["CHECKSUMS", "checksums", "page_of", "write"]

PAGES = Path(__file__).parents[1] / "docs" / "sets"
CHECKSUMS = ARCHIVES / "SHA256SUMS"

_HEAD = """\
# The sets

Written by `failure_benchmark/tools/index.py`.
A set is closed before it is first diagnosed, and is never rewritten: `src/dask_failures/sets/SHA256SUMS` has the checksum of each archive.
`dask-failures unpack SET FOLDER` writes its files.

| set | cases | recordings | what it is |
|---|---|---|---|
"""


def checksums() -> str:
    """Return the checksums of the archives, as `sha256sum` prints them."""
    return "".join(
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n"
        for each in sorted(ARCHIVES.glob("*.tar.xz"))
    )


def page_of(found: FailureSet) -> str:
    """Return the page of a set."""
    return "\n".join(
        [
            f"# {found.name}",
            "",
            f"{found.info.title} Written by `failure_benchmark/tools/index.py`.",
            "*First answer*: the verdict of dask-blackbox when it first saw the case.",
            "*Not scored*: another answer is no fault.",
            "",
            "| case | what happens | right answers | first answer | |",
            "|---|---|---|---|---|",
            *_rows(found),
            "",
        ]
    )


def _rows(found: FailureSet) -> Iterator[str]:
    for name, case in found.cases.items():
        text = case.text.replace("|", "\\|").replace("\n", " ")
        if case.report:
            text += f" ([report]({case.report}))"
        yield (
            f"| `{name}` | {text} | {_expected(case)} | {_first(found, name)} | "
            f"{_remark(found, name, case)} |"
        )


def _expected(case: Case) -> str:
    if case.causes:
        return " or ".join(f"`{each}`" for each in case.causes)
    return ", ".join(f"finding `{each}`" for each in case.findings) or "succeeds"


def _first(found: FailureSet, name: str) -> str:
    answer = found.answers.get(name)
    if not answer or "kind" not in answer:
        return ""
    cause = f"`{answer['cause']}`" if answer["cause"] else "no cause"
    sure = f", {answer['confidence']}" if answer["confidence"] else ""
    kind = "" if answer["kind"] == "right" else f": {answer['kind']}"
    return f"{cause}{sure}{kind}"


def _remark(found: FailureSet, name: str, case: Case) -> str:
    if case.accepted:
        return f"not scored: {case.accepted}".replace("|", "\\|")
    return (
        "" if name in found.recorded or found.info.asks != "cause" else "no recording"
    )


def write() -> None:
    """Write all pages and the checksums."""
    PAGES.mkdir(parents=True, exist_ok=True)
    lines = [_HEAD]
    for each in all_sets():
        (PAGES / f"{each.name}.md").write_text(page_of(each), "utf-8")
        lines.append(
            f"| [{each.name}]({each.name}.md) | {len(each.cases)} | "
            f"{len(each.recorded)} | {each.info.title} |\n"
        )
    (PAGES / "README.md").write_text("".join(lines), "utf-8")
    CHECKSUMS.write_text(checksums())


if __name__ == "__main__":
    write()
