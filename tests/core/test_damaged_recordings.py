"""A recording of which one file is damaged: that is said, and no verdict comes of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dask_blackbox import Run
from dask_blackbox.cli import blackbox
from dask_blackbox.errors import MalformedRecordingError
from dask_blackbox.manifest import DriverException, Manifest, seal_is_whole
from dask_blackbox.protocol.messages import End, end_row
from dask_blackbox.reader import find_run
from dask_blackbox.reader.documents import read_ending, read_manifest
from dask_blackbox.recorder.spool import Spool
from dask_blackbox.recorder.spool_folder import note_beginning, spooled_in
from dask_blackbox.recorder.sync import upload_recording
from dask_blackbox.store import MemoryStore, open_store
from dask_blackbox.testing import EPOCH, a_log, a_metric, a_task, a_worker_added
from dask_blackbox.testing.facts import an_event, rows_of

RULE = "driver-exception"
END = End(
    state="failed",
    exit_code=1,
    exception=DriverException(exception="builtins.KeyError", message="'tuesday'"),
)
BUNDLE = b"opaque"


def _record(
    folder: Path, *, end: End | None = END, full: bool = False, reserves: bool = True
) -> None:
    """Put the recording of a failed run into a store, as a recorder does.

    Args:
        full: The disk has no space for what is written last.
        reserves: The recorder reserves such space; earlier versions did not.
    """
    kept = an_event(
        "bundle-stored",
        "('sum-1', 0)",
        number=1,
        prefix="sum",
        size=len(BUNDLE),
        sha256=hashlib.sha256(BUNDLE).hexdigest(),
    )
    facts = [a_worker_added(), a_task(), a_metric(at=2.0), a_log("x", at=3.0), kept]
    spool = Spool(folder / "spool" / "r", "r", "1")
    for number, some in enumerate((facts[:2], facts[2:]), 1):
        spool.append("scheduler tcp://s", number, EPOCH + number, rows_of(*some))
        spool.close_if_due(now=True)
    if end is not None:
        spool.append("recorder", None, EPOCH + 9, {"event": [end_row(end)]})
    spool.close_if_due(now=True)
    settings = {"url": str(folder / "store")}
    manifest = Manifest(recording="r", job="nightly", run_id="1", started=EPOCH)
    note_beginning(folder / "spool" / "r", manifest, settings)
    bundles = folder / "spool" / "r" / "bundles"
    bundles.mkdir()
    (bundles / "1.bundle").write_bytes(BUNDLE)
    reserve = folder / "spool" / "r" / "reserve"
    if full:
        os.truncate(reserve, 0)
    if not reserves:
        reserve.unlink()
    [waiting] = spooled_in(folder / "spool").ready
    assert upload_recording(waiting) is not None


def test_a_recording_whose_account_did_not_fit_on_the_disk_is_not_called_complete(
    tmp_path: Path,
) -> None:
    _record(tmp_path, full=True)
    card = find_run(open_store(str(tmp_path / "store")), "latest").card()

    assert card.state == "failed"
    assert card.completeness["missing"]["spool"] == [
        "could not keep everything (its disk was full at the end)"
    ]


def test_a_recording_of_a_version_that_reserved_no_space_is_complete(
    tmp_path: Path,
) -> None:
    _record(tmp_path, reserves=False)

    card = find_run(open_store(str(tmp_path / "store")), "latest").card()
    assert "spool" not in card.completeness.get("missing", {})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the recording of a run that failed."""
    folder = tmp_path_factory.mktemp("whole")
    _record(folder)
    return folder / "store"


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """Return a copy of that store, to be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "store"))


FILES = [
    "bundles/1.bundle",
    "card.json",
    "complete.json",
    "heartbeat.json",
    "performance_report.html",
    "report.html",
    "run.json",
    *(f"segments/1-{number:06d}.seg" for number in (1, 2, 3)),
    *(
        f"tables/{name}.parquet"
        for name in ("errors", "events", "logs", "metrics", "tasks", "workers")
    ),
]


def _flip(path: Path) -> None:
    blob = bytearray(path.read_bytes())
    blob[len(blob) // 2] ^= 4
    path.write_bytes(blob)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


DAMAGES: dict[str, Callable[[Path], None]] = {
    "flipped": _flip,
    "cut": _cut,
    "deleted": Path.unlink,
}


def _folder(store: Path) -> Path:
    [found] = store.glob("runs/*/*/*")
    return found


def _show(store: Path, *words: str) -> Result:
    return CliRunner().invoke(
        blackbox, ["show", "nightly", "--store", str(store), *words]
    )


def test_these_are_all_files_of_a_recording(whole: Path) -> None:
    folder = _folder(whole)
    found = [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()]
    shown = _show(whole, "--verify")

    assert set(found) - {"tables/spans.parquet"} == set(FILES)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert f"({RULE})" in shown.stdout
    assert "damaged" not in shown.stdout


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_any_damage_is_found(copy: Path, name: str, how: str) -> None:
    DAMAGES[how](_folder(copy) / name)

    run = Run.open(_folder(copy))
    assert name in run.verify()
    assert name.removeprefix("segments/") in run.completeness["damaged"]
    assert run.completeness["complete"] is False


@pytest.mark.parametrize("name", FILES)
def test_damage_is_reported_first_and_never_changes_the_verdict(
    copy: Path, name: str
) -> None:
    _flip(_folder(copy) / name)
    shown = _show(copy, "--verify")

    assert shown.exit_code == 1
    assert shown.stderr.startswith(f"damaged: {name}: ")
    assert f"({RULE})" in shown.stdout
    state, damage, *_ = shown.stdout.splitlines()
    assert "FAILED" in state
    assert damage.startswith("! This recording is damaged: ")
    assert name.removeprefix("segments/") in damage


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("also", [None, "card.json", "complete.json", "segments"])
def test_without_its_first_document_a_recording_is_known_by_all_else(
    copy: Path, whole: Path, how: str, also: str | None
) -> None:
    before = Run.open(_folder(whole))
    folder = _folder(copy)
    DAMAGES[how](folder / "run.json")
    if also == "segments":
        shutil.rmtree(folder / also)
    elif also is not None:
        DAMAGES[how](folder / also)
    shown = _show(copy, "--verify")
    run = Run.open(folder)

    assert shown.exit_code == 1
    assert "damaged: run.json: " in shown.stderr
    assert f"({RULE})" in shown.stdout
    assert (run.manifest.job, run.manifest.run_id) == ("nightly", "1")
    assert run.manifest.started == before.manifest.started
    assert run.card().numbers == before.card().numbers


def test_without_an_index_a_run_began_with_its_first_rows(copy: Path) -> None:
    (_folder(copy) / "run.json").unlink()
    shutil.rmtree(copy / "index")

    assert Run.open(_folder(copy)).manifest.started == EPOCH + 1


def test_nothing_is_shown_of_a_recording_of_which_only_pages_remain(copy: Path) -> None:
    folder = _folder(copy)
    for each in ("run.json", "card.json"):
        (folder / each).unlink()
    shutil.rmtree(folder / "segments")
    shutil.rmtree(copy / "index")

    with pytest.raises(MalformedRecordingError, match=r"run\.json is missing"):
        Run.open(folder)


@pytest.mark.parametrize("how", DAMAGES)
def test_an_end_of_which_only_the_state_is_left_is_no_ground_for_a_verdict(
    tmp_path: Path, how: str
) -> None:
    _record(tmp_path, end=None)  # as recorders wrote them before they noted the end
    store = tmp_path / "store"
    DAMAGES[how](_folder(store) / "complete.json")
    card = json.loads(_show(store, "--json").stdout)

    assert card["state"] == "lost"
    assert card["verdict"] is None
    assert card["headline"].startswith("The recording is damaged: how it ended")
    assert "complete.json" in card["completeness"]["damaged"]


def test_without_segments_the_index_still_reports_the_state(copy: Path) -> None:
    folder = _folder(copy)
    _flip(folder / "complete.json")
    shutil.rmtree(folder / "segments")
    shown = _show(copy, "--verify")

    assert shown.exit_code == 1
    assert "FAILED" in shown.stdout
    assert "it failed, but why is no longer known" in shown.stdout
    assert "(driver-" not in shown.stdout


@pytest.mark.parametrize("name", ["complete.json", "run.json"])
def test_no_flipped_bit_of_the_two_documents_is_overlooked(
    whole: Path, name: str
) -> None:
    blob = (_folder(whole) / name).read_bytes()
    store = MemoryStore()
    for place in range(len(blob) * 8):
        flipped = bytearray(blob)
        flipped[place // 8] ^= 1 << place % 8
        store.put(name, bytes(flipped))
        damaged: dict[str, str] = {}
        if name == "complete.json":
            assert read_ending(store, "", damaged) is None
            assert name in damaged
        else:
            with pytest.raises(MalformedRecordingError, match=r"run\.json"):
                read_manifest(store, "")


def test_a_table_that_is_damaged_is_read_from_the_segments(copy: Path) -> None:
    _flip(_folder(copy) / "tables" / "tasks.parquet")
    run = Run.open(_folder(copy))

    assert run.tasks.height == 1
    assert "tables/tasks.parquet" in run.damaged


@pytest.mark.parametrize("name", ["run.json", "complete.json"])
def test_no_byte_of_a_seal_can_go_unnoticed(whole: Path, name: str) -> None:
    text = (_folder(whole) / name).read_bytes()
    begins = text.rindex(b",\n")

    for at in range(begins, len(text)):
        without = text[:at] + text[at + 1 :]
        assert not seal_is_whole(without), f"without byte {at}: {without[begins:]!r}"
