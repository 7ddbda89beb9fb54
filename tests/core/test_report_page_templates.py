"""Compiled templates are kept, and one that is damaged or of another source is not used."""

from __future__ import annotations

from pathlib import Path

import pytest
from dask_blackbox.report.page_templates import CompiledTemplates
from jinja2 import DictLoader, Environment


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)


def rendered(folder: Path, source: str) -> str:
    environment = Environment(
        loader=DictLoader({"page": source}),
        bytecode_cache=CompiledTemplates(folder),
        autoescape=True,
    )
    return environment.get_template("page").render()


def test_a_template_is_compiled_once(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert rendered(folder, "one") == "one"
    [kept] = folder.iterdir()
    blob = kept.read_bytes()
    # What is kept is what is used: here, another text under the same checksum.
    kept.write_bytes(blob.replace(b"one", b"two"))

    assert rendered(folder, "one") == "two"


@pytest.mark.parametrize("damage", [b"", b"j2", b"nothing of ours"])
def test_a_damaged_file_is_made_again(tmp_path: Path, damage: bytes) -> None:
    rendered(tmp_path, "one")
    [kept] = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage)

    assert rendered(tmp_path, "one") == "one"
    assert kept.read_bytes() == whole


def test_a_file_that_is_cut_is_made_again(tmp_path: Path) -> None:
    rendered(tmp_path, "one")
    [kept] = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-10])

    assert rendered(tmp_path, "one") == "one"
    assert kept.read_bytes() == whole


def test_a_changed_template_is_compiled_again(tmp_path: Path) -> None:
    rendered(tmp_path, "one")

    assert rendered(tmp_path, "another") == "another"


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("where a folder should be")

    assert rendered(tmp_path / "file", "one") == "one"
