"""A host whose server fails to answer as a run's recorder sets the host's records right."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from dask_blackbox.card import RunCard
from dask_blackbox.recorder.host_finaliser import finalise_for_host
from dask_blackbox.testing import a_run

FINALISER = """
from pathlib import Path

def finalise(manifest, card, tasks, overview):
    calls = Path(manifest.host["calls"])
    done = len(calls.read_text()) if calls.exists() else 0
    calls.write_text("x" * (done + 1))
    if done < manifest.host["failures"]:
        raise ConnectionError("the server does not answer")
"""
CARD = RunCard(job="etl", run_id="r1", state="aborted", headline="Killed")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kind of a host whose installed package names a finaliser."""
    (tmp_path / "somehost.py").write_text(FINALISER)
    metadata = tmp_path / "somehost-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: somehost\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[dask_blackbox.finalisers]\nsomehost = somehost:finalise\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return "somehost"


@pytest.mark.parametrize(
    ("failures", "pauses", "calls"), [(0, 3, 1), (2, 3, 3), (9, 3, 4), (1, 0, 1)]
)
def test_a_finaliser_that_fails_is_called_again_as_often_as_there_are_pauses(
    host: str, tmp_path: Path, failures: int, pauses: int, calls: int
) -> None:
    file = tmp_path / "calls.txt"
    facts = {"kind": host, "calls": str(file), "failures": failures}
    manifest = msgspec.structs.replace(a_run().manifest, host=facts)

    finalise_for_host(manifest, CARD, (), pauses=(0.0,) * pauses)

    assert len(file.read_text()) == calls
