"""The catalogue of what others print: each row finds its own example, and who prints it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import dask
import distributed
import polars as pl
import pytest
from conditions import scaled
from dask_blackbox.analyse.signatures import (
    SIGNATURES,
    Signature,
    data_libraries,
    frequent,
    lines_of,
    mpi,
    printed_by,
    python,
    services,
)
from dask_blackbox.analyse.signatures import distributed as distributed_lines
from dask_blackbox.analyse.signatures.signature import _texts_in
from polars.testing import assert_frame_equal
from project_uv import UV
from runs_from_rows import a_log_line, a_run
from source_texts import texts_in

OLDEST = "2025.1.0"
"""The oldest version of dask and distributed that is supported (docs/compatibility.md)."""


def test_names_are_unique() -> None:
    modules = (data_libraries, distributed_lines, frequent, mpi, python, services)
    rows = [e for m in modules for e in vars(m).values() if isinstance(e, Signature)]
    assert len(rows) == len(SIGNATURES)


@pytest.mark.parametrize("row", SIGNATURES.values(), ids=SIGNATURES)
def test_a_row_finds_its_example(row: Signature) -> None:
    assert row.search(row.example)


@pytest.mark.parametrize("row", SIGNATURES.values(), ids=SIGNATURES)
def test_a_row_finds_its_example_in_a_column_of_logs(row: Signature) -> None:
    logs = pl.DataFrame({"message": [row.example, "nothing of the kind"]})

    assert logs.filter(printed_by(row))["message"].to_list() == [row.example]


@pytest.mark.parametrize("row", SIGNATURES.values(), ids=SIGNATURES)
def test_a_row_finds_nothing_in_other_lines(row: Signature) -> None:
    lines = [
        "",
        "distributed.core - INFO - Starting established connection to tcp://a:1",
    ]

    assert [line for line in lines if row.search(line)] == []


EXAMPLES = a_run(
    *(
        a_log_line(row.example, at=n, level=40, logger="stderr", role="driver")
        for n, row in enumerate(SIGNATURES.values())
    )
)


@pytest.mark.parametrize("row", SIGNATURES.values(), ids=SIGNATURES)
def test_lines_are_the_same_as_those_that_the_pattern_finds(row: Signature) -> None:
    """Lines are chosen by a text of the pattern first."""
    found = lines_of(EXAMPLES, row)

    assert row.example in found["message"].to_list()
    assert_frame_equal(found, EXAMPLES.logs.filter(printed_by(row)))


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"P2P (?:shuffling )?failed during (\w+) phase", ("failed during ",)),
        (r"(?P<name>[^)]+) was killed\.", (" was killed.",)),
        (r"(?m)\AWorkers? left", ("Worker",)),
        (r"ab{2,}cd+e", ("cd",)),
        (r"one|three? (?:two|four)|[|]five", ("one", "thre", "five")),
        (r"(?i)not read", ()),
        (r"(?:a|b)\w*|five", ()),
    ],
)
def test_a_line_has_a_text_of_its_pattern(pattern: str, texts: tuple[str, ...]) -> None:
    assert _texts_in(pattern) == texts


DASKS = {n: e for n, e in SIGNATURES.items() if e.source in {"dask", "distributed"}}


def of_installed() -> list[Path]:
    return [Path(str(module.__file__)).parent for module in (dask, distributed)]


@pytest.mark.parametrize("row", DASKS.values(), ids=DASKS)
def test_dask_prints_the_example(row: Signature) -> None:
    """A message that was reworded fails here, not in somebody's verdict."""
    assert says(row, of_installed()) == (row.until is None)


def says(row: Signature, packages: list[Path]) -> bool:
    """Return whether the source prints a line like the example that the row finds."""
    found = row.search(row.example)
    assert found is not None
    # The fixed text has to be what the pattern looks for, not what is beside it.
    looked_for = set(re.findall(r"\w{4,}", found[0]))
    return any(
        looked_for & set(re.findall(r"\w{4,}", text))
        for text in texts_in(row.example, packages)
    )


def test_a_reworded_message_is_found_out(tmp_path: Path) -> None:
    row = DASKS["NANNY_EXIT_STATUS"]
    (tmp_path / "nanny.py").write_text(
        'def said(pid, code):\n    return f"Worker process {pid} left with code {code}"\n'
    )

    assert not says(row, [tmp_path])


@pytest.fixture(scope="session")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the sources of the oldest supported versions: two wheels, from uv's cache."""
    folder = tmp_path_factory.mktemp("oldest")
    wanted = [f"{name}=={OLDEST}" for name in ("dask", "distributed")]
    command = [UV, "pip", "install", "--quiet", "--no-deps", "--python", sys.executable]
    done = subprocess.run(
        [*command, "--target", str(folder), *wanted],
        capture_output=True, text=True, timeout=scaled(120), check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"uv cannot bring distributed {OLDEST} here: {done.stderr[-300:]}")
    return [folder / "dask", folder / "distributed"]


@pytest.mark.parametrize("row", DASKS.values(), ids=DASKS)
def test_the_oldest_supported_dask_prints_it_too(
    row: Signature, oldest: list[Path]
) -> None:
    assert says(row, oldest) == (row.since is None)
