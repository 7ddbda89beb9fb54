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
    printed_by,
    python,
    services,
)
from dask_blackbox.analyse.signatures import distributed as distributed_lines
from project_uv import UV
from source_texts import texts_in

OLDEST = "2025.1.0"
"""The oldest version of dask and distributed that is supported (docs/compatibility.md)."""


def test_names_are_unique() -> None:
    modules = (data_libraries, distributed_lines, python, services)
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
