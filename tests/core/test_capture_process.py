"""The inventory of packages is that of the standard library, at a tenth of its time."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from dask_blackbox.capture.process import installed


def test_names_and_versions_are_those_of_importlib() -> None:
    expected = [(d.metadata["Name"], d.version) for d in metadata.distributions()]

    assert list(installed()) == expected


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("b-2.dist-info/METADATA", "Metadata-Version: 2.1\nName: b\nVersion: 2\n\nVersion: 3"),
        ("b.egg-info", "Metadata-Version: 1.0\nName: b\nVersion: 2\n"),
        ("b.egg-info/PKG-INFO", "Metadata-Version: 1.0\r\nName: b\r\nVersion: 2\r\n\r\nText"),
    ],
)  # fmt: skip
def test_older_kinds_of_installation_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_bytes(text.encode())
    (tmp_path / "broken.dist-info").mkdir()
    (tmp_path / "broken.dist-info" / "METADATA").write_text("Description of nothing")
    monkeypatch.setattr("sys.path", [str(tmp_path)])

    assert list(installed()) == [("b", "2")]
