"""The spool: whatever happens to the local disk, no row is lost unsaid, and nothing grows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import msgspec
import pytest
from click.testing import CliRunner
from conditions import until
from dask_blackbox import Recording, Run, recording
from dask_blackbox.cli.sync import sync
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.manifest import Manifest
from dask_blackbox.protocol.messages import End
from dask_blackbox.recorder.spool import Spool, quota_for
from dask_blackbox.recorder.spool_folder import (
    Claim,
    chosen_spool,
    claimed,
    default_spool,
    note_beginning,
    note_end,
    spooled_in,
)
from dask_blackbox.segments import read_segment
from small_disks import filled, small_disks

WHOLE = {"recorded": True, "kept": "store", "complete": True}
NOWHERE = "/proc/nowhere"
MIB = 2**20


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """Return a maker of file systems of 1 MiB."""
    with small_disks(tmp_path) as make:
        yield make


def a_task_row(number: int) -> list[Any]:
    """Return a `task` row."""
    key = f"inc-{number:032x}"
    return [key, "inc", "inc", "w", 1, 1.0, 2.0, 1.0, 0, 0, 0, 8, "int", "finished"]


def an_event_row(number: int) -> list[Any]:
    """Return an `event` row."""
    return [1.0 + number, "graph-updated", "c", "{}"]


def rows_in(spool: Spool) -> dict[str, int]:
    """Count the rows that can be read, by kind."""
    counts: dict[str, int] = {}
    for name in spool.here():
        for batch in read_segment(spool.read(name)).frames:
            for kind, number in batch.counts.items():
                counts[kind] = counts.get(kind, 0) + number
    return counts


def test_how_a_run_ended_fits_on_a_disk_that_others_have_filled(
    tiny: Callable[[], Path],
) -> None:
    disk = tiny()
    manifest = Manifest(recording="r", job="nightly", run_id="1", started=1.0)
    note_beginning(disk / "r", manifest, {})
    filled(disk)
    note_beginning(disk / "r", manifest, {})  # by a recorder that takes over
    note_end(disk / "r", End(state="failed", exit_code=1), "all recorders died")
    [waiting] = spooled_in(disk).ready

    assert waiting.manifest == manifest
    assert waiting.left is not None
    assert waiting.left.end.exit_code == 1


def test_rows_that_the_disk_does_not_hold_wait_in_memory(
    tiny: Callable[[], Path],
) -> None:
    disk = tiny()
    spool = Spool(disk / "r", "r", "w")
    spool.append("s", 1, 1.0, {"event": [an_event_row(1)]})
    other = filled(disk)
    for number in range(2, 2000):
        spool.append("s", number, 1.0, {"event": [an_event_row(number)]})
    spool.close_if_due(now=True)

    assert rows_in(spool) == {"event": 1999}
    assert spool.account is None
    other.unlink()
    spool.settle()
    assert rows_in(Spool(disk / "r", "r", "later")) == {"event": 1999}


def test_what_neither_disk_nor_memory_holds_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dask_blackbox.recorder.spool.IN_MEMORY", MIB)
    spool = Spool(Path(NOWHERE), "r", "w")
    for number in range(24):
        big = [1.0, "x", "y", os.urandom(MIB // 16).hex()]
        spool.append("s", number, 1.0, {"event": [big]})
        spool.append("s", None, 1.0, {"task": [a_task_row(number)]})
        spool.close_if_due(now=True)
    account = spool.account
    kept = rows_in(spool)

    assert account is not None
    assert "cannot be written" in (account.error or "")
    assert account.dropped["event"] + kept["event"] == 24
    assert account.dropped["task"] + kept.get("task", 0) == 24
    assert 0 < kept["event"] < 24


def test_on_a_nearly_full_disk_an_error_is_kept_rather_than_what_was_printed(
    tiny: Callable[[], Path],
) -> None:
    disk = tiny()
    spool = Spool(disk / "r", "r", "w")
    other = filled(disk)
    for number in range(40):
        lines = [a_line_row(100 * number + i) for i in range(100)]
        spool.append("s", number, 1.0, {"log": lines, "event": [an_event_row(number)]})
        spool.close_if_due(now=True)
    error = [1.0, "boom", "boom", "w", "erred", "ValueError", "x", "", None, None]
    spool.append("s", None, 1.0, {"error": [error]})
    spool.close_if_due(now=True)
    os.truncate(other, other.stat().st_size - 256 * 2**10)
    spool.settle()
    account, kept = spool.account, rows_in(Spool(disk / "r", "r", "later"))

    assert account is not None
    assert "No space left" in (account.error or "")
    assert kept == {"error": 1, "event": 40}
    assert account.dropped == {"log": 4_000}


def test_what_lies_in_memory_makes_space_by_what_reports_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dask_blackbox.recorder.spool.IN_MEMORY", MIB // 4)
    spool = Spool(Path(NOWHERE), "r", "w")
    for number in range(40):
        lines = [a_line_row(100 * number + i) for i in range(100)]
        spool.append("s", number, 1.0, {"log": lines, "event": [an_event_row(number)]})
        spool.close_if_due(now=True)
    account, kept = spool.account, rows_in(spool)
    for name in spool.waiting():
        spool.uploaded(name)
    spool.append("s", 99, 1.0, {"log": [a_line_row(9_999)]})
    spool.close_if_due(now=True)

    assert account is not None
    assert kept["event"] == 40
    assert kept.get("log", 0) + account.dropped["log"] == 4_000
    assert "event" not in account.dropped
    assert rows_in(spool)["log"] == 1


def test_a_segment_that_was_begun_and_not_written_is_no_damage(tmp_path: Path) -> None:
    before = Spool(tmp_path, "r", "a")
    before.append("w", 1, 1.0, {"event": [an_event_row(1)]})
    before.close_if_due(now=True)
    # As of a recorder that was killed between the two.
    (before.folder / "a-000002.seg").touch()

    after = Spool(tmp_path, "r", "b")

    assert after.waiting() == ["a-000001.seg"]
    assert [each.name for each in after.folder.iterdir()] == ["a-000001.seg"]


def test_a_folder_that_is_deleted_is_made_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "r", "r", "w")
    spool.append("s", 1, 1.0, {"event": [an_event_row(1)]})
    shutil.rmtree(tmp_path / "r")
    spool.append("s", 2, 1.0, {"event": [an_event_row(2)]})
    spool.close_if_due(now=True)

    assert rows_in(Spool(tmp_path / "r", "r", "later")) == {"event": 2}
    assert spool.account is None


def a_line_row(number: int, *, level: int = 20) -> list[Any]:
    """Return a `log` row with much text in it."""
    text = f"{number} {os.urandom(100).hex()}"
    return [1.0, "worker", "w", 1, number, "stdout", level, text, None]


def test_beyond_its_room_what_reports_most_is_kept_longest(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "r", "r", "w", quota=20_000)
    for number in range(500):
        tasks = [a_task_row(zlib.crc32(b"%d %d" % (number, i))) for i in range(50)]
        rows = {"task": tasks, "event": [an_event_row(number)]}
        spool.append("s", number, 1.0, rows)
        spool.close_if_due(now=True)
    account, kept = spool.account, rows_in(spool)

    assert account is not None
    assert "its limit is" in (account.error or "")
    assert account.dropped["task"] + kept.get("task", 0) == 25_000
    assert kept["event"] == 500
    assert "event" not in account.dropped
    size = sum(p.stat().st_size for p in (tmp_path / "r").rglob("*.seg"))
    assert size < 24_000


@pytest.mark.parametrize("in_segments", [1, 20])
def test_an_error_takes_the_room_of_what_was_printed_before(
    tmp_path: Path, in_segments: int
) -> None:
    spool = Spool(tmp_path / "r", "r", "w", quota=50_000)
    for number in range(20):
        lines = [a_line_row(50 * number + i) for i in range(50)]
        spool.append("s", number, 1.0, {"log": lines})
        spool.close_if_due(now=in_segments > 1)
    warning = {"log": [a_line_row(2_000, level=30)]}
    spool.append("s", None, 1.0, warning)
    error = [
        1.0,
        "boom-1",
        "boom",
        "w",
        "erred",
        "ValueError",
        "x" * 9_000,
        "",
        None,
        None,
    ]
    profile = [1.0, "profile", "", "x" * 9_000]
    certificate = [1.0, "worker-exit-report", "w", "{}"]
    spool.append("s", None, 1.0, {"error": [error], "event": [certificate, profile]})
    spool.close_if_due(now=True)
    account, kept = spool.account, rows_in(spool)

    assert account is not None
    assert kept["error"] == 1
    assert (
        kept["event"] + account.dropped.get("event", 0) == 2
    )  # the profile may be dropped
    assert kept["log"] + account.dropped["log"] == 1_001
    assert kept["log"] >= 1  # the warning
    assert sum(p.stat().st_size for p in tmp_path.rglob("*.seg")) < 50_000


def test_the_last_printed_lines_are_kept(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "r", "r", "w", quota=50_000)
    for number in range(200):
        lines = [a_line_row(50 * number + i) for i in range(50)]
        spool.append("s", number, 1.0, {"log": lines})
        spool.close_if_due(now=number % 4 == 0)
    spool.close_if_due(now=True)
    account = spool.account
    numbers = [
        row[4]
        for name in spool.here()
        for batch in read_segment(spool.read(name)).frames
        for row in batch.rows["log"]
    ]

    assert account is not None
    assert len(numbers) + account.dropped["log"] == 10_000
    assert numbers == list(range(10_000 - len(numbers), 10_000))
    assert len(numbers) > 100


def test_what_the_store_has_makes_room(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "r", "r", "w", quota=20_000)
    for number in range(300):
        spool.append("s", number, 1.0, {"task": [a_task_row(number)] * 20})
        spool.close_if_due(now=True)
        for name in spool.waiting():
            spool.uploaded(name)

    assert spool.account is None
    assert sum(p.stat().st_size for p in tmp_path.rglob("*.seg")) < 25_000


@pytest.mark.nightly
def test_a_million_rows_for_a_dead_store_take_neither_memory_nor_the_disk(
    tmp_path: Path,
) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from dask_blackbox.recorder.spool import Spool\n"
        "from test_store_spool import a_task_row\n"
        "spool = Spool(Path(sys.argv[1]), 'r', 'w', quota=2**20)\n"
        "def put(n):\n"
        "    rows = [a_task_row(2000 * n + i) for i in range(2000)]\n"
        "    spool.append('s', n, 1.0, {'task': rows}); spool.close_if_due(now=n % 20 == 0)\n"
        "for n in range(100): put(n)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for n in range(100, 500): put(n)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(after - before, sum(spool.account.dropped.values()))\n"
    )
    folders = [Path(__file__).parent, Path(__file__).parents[1] / "support"]
    reported = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()

    assert int(reported[0]) < 40 * 1024  # KiB, for 800,000 rows more
    assert int(reported[1]) > 500_000
    assert sum(p.stat().st_size for p in tmp_path.rglob("*.seg")) < 2 * MIB


def test_room_is_shared_with_what_waits_already(tmp_path: Path) -> None:
    others = tmp_path / "other" / "segments"
    others.mkdir(parents=True)
    (others / "1.seg").write_bytes(b"x" * 600_000)

    assert quota_for(tmp_path / "mine", MIB) == MIB - 600_000
    assert quota_for(tmp_path / "mine", 700_000) == 100_000
    assert quota_for(tmp_path / "mine", 400_000) == 50_000
    assert quota_for(tmp_path / "mine", 2**60) < shutil.disk_usage(tmp_path).free / 9


def recorded(
    store: Path, spool: Path, during: Callable[[Recording], None]
) -> Recording:
    """Record a run without a cluster."""
    with (
        dask.config.set({"blackbox.spool": str(spool)}),
        recording(store=store, job="spool", run_id=spool.name) as rec,
    ):
        during(rec)
    return rec


def failing(rec: Recording, number: int) -> None:
    """Let something abnormal happen, whose segment leaves after a second."""
    rec.task_failed(f"boom-{number}", "boom", ValueError(str(number)))


def segments(store: Path) -> list[Path]:
    """Return the segments in a store."""
    return list(store.rglob("*.seg"))


def test_a_full_disk_under_the_spool_costs_nothing_while_the_store_works(
    tiny: Callable[[], Path], tmp_path: Path
) -> None:
    disk, store = tiny(), tmp_path / "store"

    def during(rec: Recording) -> None:
        failing(rec, 1)
        until(lambda: len(segments(store)) == 1, "the first segment")
        filled(disk)
        failing(rec, 2)
        until(lambda: len(segments(store)) == 2, "the second segment")

    rec = recorded(store, disk / "spool", during)
    run = Run.open(rec.card.links["recording"])

    assert rec.card.completeness == WHOLE
    assert run.errors["key"].to_list() == ["boom-1", "boom-2"]
    assert run.verify() == {}


@pytest.mark.parametrize("nearly_full", [True, False])
def test_pages_leave_the_last_space_of_a_spool_to_rows(
    tiny: Callable[[], Path],
    tmp_path: Path,
    nearly_full: bool,  # noqa: FBT001
) -> None:
    """They can be made again from the rows, which wait for a store that is away."""
    spool = (tiny() if nearly_full else tmp_path) / "spool"

    def during(rec: Recording) -> None:
        failing(rec, 1)
        until(lambda: list(spool.glob("*/segments/*")), "the first rows")
        if nearly_full:
            other = filled(spool.parent)
            os.truncate(other, other.stat().st_size - 512 * 2**10)

    rec = recorded(Path(NOWHERE), spool, during)
    [folder] = spool.iterdir()
    kept = Spool(folder, folder.name, "later")

    assert not rec.card.completeness["recorded"]
    assert rows_in(kept)["error"] == 1
    assert (folder / "complete.json").is_file()
    assert (folder / "report.html").is_file() is not nearly_full


def test_where_neither_store_nor_spool_takes_anything_nothing_is_said_to_wait() -> None:
    rec = recorded(Path(NOWHERE), Path(NOWHERE), lambda rec: failing(rec, 1))
    completeness = rec.card.completeness

    assert not completeness["recorded"]
    assert f"nothing could be kept in {NOWHERE}" in completeness["reason"]
    assert "waits" not in completeness["reason"]


def test_a_spool_that_is_deleted_in_mid_run_costs_nothing_while_the_store_works(
    tmp_path: Path,
) -> None:
    spool, store = tmp_path / "spool", tmp_path / "store"

    def during(rec: Recording) -> None:
        failing(rec, 1)
        until(lambda: len(segments(store)) == 1, "the first segment")
        shutil.rmtree(spool)
        failing(rec, 2)
        until(lambda: len(segments(store)) == 2, "the second segment")

    rec = recorded(store, spool, during)

    assert rec.card.completeness == WHOLE
    assert Run.open(rec.card.links["recording"]).errors.height == 2


def test_a_store_that_comes_late_is_checked_before_it_is_written(
    tmp_path: Path,
) -> None:
    earlier, spool, mount = tmp_path / "e", tmp_path / "spool", tmp_path / "mount"
    store = mount / "store"
    recorded(earlier, spool, lambda rec: failing(rec, 1))
    mount.write_text("a file, where a folder is wanted")

    def during(rec: Recording) -> None:
        failing(rec, 2)
        log = next(spool.glob("*/recorder.log"))
        until(lambda: "the store fails" in log.read_text(), "the trouble")
        mount.unlink()
        shutil.copytree(earlier, store)
        until(lambda: len(segments(store)) == 2, "the second recording")

    rec = recorded(store, spool, during)

    assert rec.card.completeness == WHOLE
    assert rec.card.attempt == 2
    one, two = sorted(store.glob("runs/*/*/*"))
    assert Run.open(one).errors["key"].to_list() == ["boom-1"]
    assert Run.open(two).errors["key"].to_list() == ["boom-2"]


def test_a_segment_that_cannot_be_read_again_does_not_keep_the_ending_from_the_store(
    tmp_path: Path,
) -> None:
    spool, mount = tmp_path / "spool", tmp_path / "mount"
    mount.write_text("a file, where a folder is wanted")

    def during(rec: Recording) -> None:
        failing(rec, 1)
        [folder] = spool.iterdir()
        log = folder / "recorder.log"
        until(lambda: "the store fails" in log.read_text(), "the trouble")
        until(lambda: segments(folder), "the first segment")

        def closed() -> bool:
            failing(rec, 2)  # the next segment begins once the first one is closed
            return len(segments(folder)) > 1

        until(closed, "the second segment")
        shutil.rmtree(folder / "segments")
        (folder / "segments").write_text("a file, where a folder is wanted")
        mount.unlink()

    rec = recorded(mount / "store", spool, during)
    run = Run.open(rec.card.links["recording"])

    assert rec.card.completeness["recorded"]
    assert "error row" in str(rec.card.completeness["missing"]["spool"])
    assert run.ending is not None
    assert run.ending.state == "succeeded"


def test_a_spool_that_another_user_has_prepared_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    usual = default_spool()
    usual.parent.symlink_to(tmp_path)

    assert usual.is_relative_to(tmp_path)
    assert default_spool() == tmp_path / "home" / ".cache" / "dask-blackbox" / "spool"


def test_a_store_that_is_deleted_in_mid_run_is_filled_again(tmp_path: Path) -> None:
    spool, store = tmp_path / "spool", tmp_path / "store"

    def during(rec: Recording) -> None:
        failing(rec, 1)
        until(lambda: len(segments(store)) == 1, "the first segment")
        store.rename(tmp_path / "gone")
        failing(rec, 2)
        until(lambda: len(segments(store)) == 1, "the second segment")

    rec = recorded(store, spool, during)
    run = Run.open(rec.card.links["recording"])

    assert rec.card.completeness == WHOLE
    assert run.verify() == {}
    assert run.errors["key"].to_list() == ["boom-1", "boom-2"]
    assert len(segments(store)) >= 2


def test_a_full_store_is_named_and_receives_the_rest_when_it_has_space(
    tiny: Callable[[], Path], tmp_path: Path
) -> None:
    disk, spool = tiny(), tmp_path / "spool"
    other: list[Path] = []

    def during(rec: Recording) -> None:
        failing(rec, 1)
        until(lambda: len(segments(disk)) == 1, "the first segment")
        other.append(filled(disk))
        failing(rec, 2)
        log = next(spool.glob("*/recorder.log"))
        until(lambda: "the store fails" in log.read_text(), "the store to be full")

    rec = recorded(disk / "store", spool, during)
    reason = rec.card.completeness["reason"]
    other[0].unlink()
    subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
    synced = CliRunner().invoke(sync, ["--spool", str(spool)], catch_exceptions=False)

    assert rec.card.state == "succeeded"
    assert rec.card.completeness["kept"] == "spool"
    assert "No space left on device; free some space" in reason
    assert re.search(r"waits? in", reason)
    assert synced.exit_code == 0, synced.output
    assert Run.open(next(disk.glob("store/runs/*/*/*"))).errors.height == 2
    assert not list(spool.iterdir())


def left(folder: Path, store: str, **more: Any) -> None:
    """Leave a recording in a spool, as a recorder that was killed does."""
    spool = Spool(folder, folder.name, "w")
    spool.append("s", 1, time.time(), {"event": [an_event_row(1)]})
    manifest = Manifest(
        recording=folder.name, job="left", run_id=folder.name, started=1.0
    )
    note_beginning(folder, msgspec.structs.replace(manifest, **more), {"url": store})


def test_sync_names_what_it_cannot_read_and_brings_the_rest(tmp_path: Path) -> None:
    spool, store = tmp_path / "spool", str(tmp_path / "store")
    for name in ("fine", "newer", "garbled", "nameless", "busy"):
        left(spool / name, store)
    (spool / "newer" / "run.json").write_text('{"recording": 1}')
    (spool / "garbled" / "store.json").write_bytes(b"\xff\xfe")
    (spool / "nameless" / "run.json").unlink()
    (spool / "a file").write_text("?")
    claim = Claim(spool / "busy")
    message = CliRunner().invoke(sync, ["--spool", str(spool)], catch_exceptions=False)
    claim.release()

    assert message.exit_code == 1
    assert f"left/fine: lost, now at {store}" in message.output
    assert "busy: the run is in progress" in message.output
    for name in ("newer", "garbled", "nameless"):
        assert f"{name}: cannot be uploaded" in message.output
    assert not (spool / "fine").exists()
    again = CliRunner().invoke(sync, ["--spool", str(spool)], catch_exceptions=False)
    assert "left/busy: lost, now at" in again.output


def test_sync_distinguishes_what_it_uploads_without_a_known_end(tmp_path: Path) -> None:
    spool, store = tmp_path / "spool", str(tmp_path / "store")
    codes = []
    for name, end in (("known", End(state="succeeded")), ("unknown", None)):
        left(spool / name, store)
        if end is not None:
            note_end(spool / name, end, "the recorder is gone")
        codes.append(CliRunner().invoke(sync, ["--spool", str(spool)]).exit_code)

    assert codes == [0, 3]


def test_sync_reports_where_a_store_is_that_cannot_be_one(tmp_path: Path) -> None:
    left(tmp_path / "spool" / "odd", "gopher://somewhere")
    message = CliRunner().invoke(
        sync, ["--spool", str(tmp_path / "spool")], catch_exceptions=False
    )

    assert message.exit_code == 1
    assert "left/odd: remains in" in message.output
    assert "cannot be a store" in message.output


def test_a_run_that_is_there_already_is_never_written_over(tmp_path: Path) -> None:
    spool, store = tmp_path / "spool", str(tmp_path / "store")
    for name in ("first", "second"):
        left(spool / name, store, run_id="the same")
    message = CliRunner().invoke(sync, ["--spool", str(spool)], catch_exceptions=False)

    assert "attempt=1/" in message.output
    assert "attempt=2/" in message.output


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from dask_blackbox.recorder.spool_folder import Claim\n"
        "print(Claim(Path(sys.argv[1])).ours, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert claimed(tmp_path)
        assert not Claim(tmp_path).ours
        holder.kill()
    assert not claimed(tmp_path)
    assert Claim(tmp_path).ours


def test_a_spool_that_is_no_path_is_a_mistake_in_the_settings() -> None:
    with (
        dask.config.set({"blackbox.spool": {"folder": "/x"}}),
        pytest.raises(ConfigurationError, match="give the path of a folder"),
    ):
        chosen_spool()
