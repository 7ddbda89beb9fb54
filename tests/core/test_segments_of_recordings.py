"""Recordings that were damaged on purpose: what is wrong is named, the rest is shown."""

from __future__ import annotations

import functools
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dask
import pytest
from click.testing import CliRunner, Result
from conditions import scaled
from dask_blackbox import Run, recording
from dask_blackbox.cli import blackbox
from dask_blackbox.segments import read_segment
from dask_blackbox.store import MemoryStore
from hypothesis import given, settings
from hypothesis import strategies as st

JOB, RUN = "damaged", "run-1"
FOLDER = f"runs/job={JOB}/run={RUN}/attempt=1/"
# They are rewritten, or written again, or hold nothing that a card is made of.
NOT_NOTED = ("heartbeat.json", "index/", "sketches/")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of one real recording with several segments."""
    folder = tmp_path_factory.mktemp("original")
    spool = tmp_path_factory.mktemp("spool")
    with (
        dask.config.set({"blackbox.spool": str(spool)}),
        recording(store=folder / "store", job=JOB, run_id=RUN) as rec,
    ):
        for number in range(3):
            rec.task_failed(f"boom-{number}", "boom", ValueError(f"number {number}"))
            segments = folder / "store" / FOLDER / "segments"
            deadline = time.monotonic() + scaled(120)
            while len(list(segments.glob("*.seg"))) <= number:
                assert time.monotonic() < deadline
                time.sleep(0.02)
    assert rec.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    return folder / "store"


@functools.cache
def blobs_of(store: Path) -> dict[str, bytes]:
    """Return the blobs of a store (no fixture: Hypothesis prints what a test is given)."""
    files = [p for p in store.rglob("*") if p.is_file()]
    return {p.relative_to(store).as_posix(): p.read_bytes() for p in files}


@pytest.fixture
def store(original: Path, tmp_path: Path) -> Path:
    """Return a copy to be damaged."""
    shutil.copytree(original, tmp_path / "store")
    return tmp_path / "store"


def typed(store: Path, verb: str, *words: str) -> Result:
    """Return what came of `dask blackbox`; an exception of ours must not come."""
    words = (verb, *words, "--store", str(store))
    return CliRunner().invoke(blackbox, words, catch_exceptions=False)


def every_verb(store: Path) -> Iterator[tuple[str, Result]]:
    """Type every verb that reads a recording."""
    name = f"{JOB}/{RUN}"
    yield "show", typed(store, "show", name)
    yield "verify", typed(store, "show", name, "--verify")
    yield "logs", typed(store, "logs", name)
    yield "report", typed(store, "report", name, "--output", str(store.parent))
    yield "ls", typed(store, "ls")


def flip(path: Path, bit: int = 100) -> None:
    """Flip a bit of a file."""
    blob = bytearray(path.read_bytes())
    place = bit % (len(blob) * 8)
    blob[place // 8] ^= 1 << place % 8
    path.write_bytes(bytes(blob))


# Sizes of recorded blobs differ from run to run: what is drawn must not depend on them.
SHARES = st.floats(0, 1)


def at(share: float, last: int) -> int:
    """Return the number from 0 to `last` at a share of the way."""
    return round(share * last)


@given(SHARES, SHARES)
@settings(max_examples=200, deadline=None)
def test_a_flipped_bit_of_any_blob_is_found_and_named(
    original: Path, which: float, where: float
) -> None:
    blobs = blobs_of(original)
    names = sorted(n for n in blobs if not any(part in n for part in NOT_NOTED))
    name = names[at(which, len(names) - 1)]
    bit = at(where, len(blobs[name]) * 8 - 1)
    damaged = bytearray(blobs[name])
    damaged[bit // 8] ^= 1 << bit % 8
    store = MemoryStore()
    store.blobs = blobs | {name: bytes(damaged)}
    short = name.removeprefix(FOLDER)
    run = Run.at(store, FOLDER)
    run.verify()

    assert list(run.damaged) == [short.removeprefix("segments/")]
    if short.endswith(".seg"):
        assert any(
            word in run.damaged[short[9:]] for word in ("frame", "header", "not a")
        )
    assert run.completeness["complete"] is False
    assert short.removeprefix("segments/") in str(run.completeness["missing"]["store"])


@given(SHARES, SHARES)
@settings(max_examples=60, deadline=None)
def test_a_recording_that_ends_anywhere_is_read_as_far_as_it_goes(
    original: Path, which: float, where: float
) -> None:
    blobs = blobs_of(original)
    segments = sorted(n for n in blobs if n.endswith(".seg"))
    whole = at(which, len(segments) - 1)
    cut = at(where, len(blobs[segments[whole]]))
    store = MemoryStore()
    store.blobs = {n: blobs[n] for n in segments[:whole]}
    store.blobs[f"{FOLDER}run.json"] = blobs[f"{FOLDER}run.json"]
    store.blobs[segments[whole]] = blobs[segments[whole]][:cut]
    alive = json.dumps({"at": time.time()}).encode()
    store.blobs[f"{FOLDER}heartbeat.json"] = alive
    run = Run.at(store, FOLDER)

    # Each segment but the last is whole.
    before = [read_segment(blobs[name]) for name in segments[:whole]]
    errors = [part.counts.get("error", 0) for each in before for part in each.frames]
    assert run.errors.height >= sum(errors)
    assert set(run.damaged) <= {segments[whole].rpartition("/")[2]}
    assert run.card().state == "running"


def test_the_frame_of_a_damaged_segment_is_named_on_the_card(store: Path) -> None:
    segment = sorted((store / FOLDER / "segments").glob("*.seg"))[1]
    flip(segment, segment.stat().st_size * 8 - 5)
    seen = dict(every_verb(store))

    assert seen["verify"].exit_code == 1
    assert f"{segment.name} is damaged: frame " in seen["verify"].output
    assert "checksum" in seen["verify"].output
    # The tables are whole: nothing of the run is lost.
    assert [seen[verb].exit_code for verb in ("show", "logs", "report", "ls")] == [
        0
    ] * 4


@pytest.mark.parametrize("table", ["errors", "events", "logs", "tasks", "workers"])
@pytest.mark.parametrize("how", ["flipped", "cut", "gone"])
def test_a_damaged_table_is_read_from_the_segments(
    store: Path, table: str, how: str
) -> None:
    path = store / FOLDER / "tables" / f"{table}.parquet"
    before = getattr(Run.open(store / FOLDER), table)
    if how == "flipped":
        flip(path, path.stat().st_size * 4)
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    else:
        path.unlink()
    run = Run.open(store / FOLDER)

    assert getattr(run, table).equals(before)
    assert "read from the segments" in run.damaged[f"tables/{table}.parquet"]
    assert f"tables/{table}.parquet" in typed(store, "show", JOB, "--verify").output


def _garbage(name: str, store: Path) -> None:
    (store / FOLDER / name).write_bytes(b"\xff\xfe not JSON {")


def _gone(name: str, store: Path) -> None:
    (store / FOLDER / name).unlink()


def _flipped(name: str, store: Path) -> None:
    flip(store / FOLDER / name, 200)


@pytest.mark.parametrize("how", [_garbage, _gone, _flipped])
@pytest.mark.parametrize(
    "name", ["run.json", "card.json", "complete.json", "report.html", "heartbeat.json"]
)
def test_every_verb_works_or_gives_one_clear_error(
    store: Path, name: str, how: Callable[[str, Path], None]
) -> None:
    how(name, store)
    seen = dict(every_verb(store))

    assert seen["ls"].exit_code == 0
    assert f"{JOB}/{RUN}/1" in seen["ls"].output
    for verb, result in seen.items():
        text = result.output.strip().splitlines()
        if result.exit_code and verb != "verify":
            assert name == "run.json"
            assert len(text) == 1
            assert text[0].startswith("dask blackbox: ")
        else:
            assert text
    if name != "run.json":
        assert Run.open(store / FOLDER).errors.height == 3
    if name in {"card.json", "complete.json"} and how is not _gone:
        assert name in seen["show"].output


def test_a_segment_that_is_missing_in_the_middle_is_named(store: Path) -> None:
    segments = sorted((store / FOLDER / "segments").glob("*.seg"))
    segments[1].unlink()
    ended = typed(store, "show", JOB, "--verify")
    assert ended.exit_code == 1
    assert f"{segments[1].name} is missing" in " ".join(ended.output.split())

    for name in ("complete.json", "card.json"):
        (store / FOLDER / name).unlink()
    shutil.rmtree(store / FOLDER / "tables")
    run = Run.open(store / FOLDER)
    assert run.damaged == dict.fromkeys(
        ("complete.json", segments[1].name), "it is missing"
    )
    assert run.errors.height == 2


def test_a_segment_that_lies_there_twice_counts_once(store: Path) -> None:
    before = Run.open(store / FOLDER)
    counts = (before.errors.height, before.events.height)
    segments = sorted((store / FOLDER / "segments").glob("*.seg"))
    shutil.copy(segments[0], segments[0].with_name("copy-000001.seg"))
    (store / FOLDER / "complete.json").unlink()
    run = Run.open(store / FOLDER)

    assert (run.errors.height, run.events.height) == counts
    assert run.damaged == {"complete.json": "it is missing"}


def test_a_segment_of_another_recording_is_left_out_and_named(
    store: Path,
) -> None:
    from dask_blackbox.segments import frame, open_segment

    rows = {"error": [(1.0, "k", "k", None, "erred", "E", "m", "", None)]}
    alien = open_segment("somebody else", 1) + frame("s", 1, 1.0, rows)
    (store / FOLDER / "segments" / "alien-000001.seg").write_bytes(alien)
    (store / FOLDER / "complete.json").unlink()
    run = Run.open(store / FOLDER)

    assert run.errors.height == 3
    assert run.damaged == {
        "alien-000001.seg": "it belongs to 'somebody else'",
        "complete.json": "it is missing",
    }


def test_a_run_of_a_newer_version_is_reported_as_one(store: Path) -> None:
    reported = json.loads((store / FOLDER / "run.json").read_text())
    del reported["crc"]
    (store / FOLDER / "run.json").write_text(json.dumps(reported | {"format": 9}))
    seen = dict(every_verb(store))

    assert "upgrade with `pip install -U dask-blackbox`" in seen["show"].output
    assert seen["ls"].exit_code == 0
