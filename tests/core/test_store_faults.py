"""Real recordings through a store that fails: the run keeps its result, its rows come home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import Result
from conditions import scaled, until
from dask_blackbox import Run, RunCard
from dask_blackbox.report import markdown, text
from dask_blackbox.testing import EmbeddedS3
from scenario_runs import every_byte
from store_matrix import SECRET, Range, a_range, finished_run

pytestmark = [pytest.mark.processes, pytest.mark.nightly]

RESULT = 2 * sum(range(20)) + 42
WHOLE = {"recorded": True, "kept": "store", "complete": True}


@pytest.fixture(scope="module")
def place(s3: EmbeddedS3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    with a_range(s3, tmp_path_factory.mktemp("range")) as place:
        yield place


@pytest.fixture(autouse=True)
def works_again(place: Range) -> Iterator[None]:
    yield
    place.proxy.work()


def opened(place: Range, folder: str) -> Run:
    """Open a recording, not through the proxy."""
    server = place.proxy.behind
    return Run.open(f"{server.url}/{folder}", settings=server.settings)


def signed_at(card: RunCard) -> str:
    """Return when the link of the report was signed, which sorts by time."""
    return parse_qs(urlsplit(card.links["report"]).query)["X-Amz-Date"][0]


def test_uploads_continue_whenever_a_trouble_has_passed(place: Range) -> None:
    synced: list[Result] = []
    finished = finished_run(
        place,
        "through-thick-and-thin",
        first="refused",
        passing=["slow down", "expired token", "silence"],
        in_the_midst=lambda: synced.append(place.sync()),
    )
    run = opened(place, finished.folder)

    assert finished.result == RESULT
    assert finished.card.state == "succeeded"
    assert finished.card.completeness | {"behind": 0} == WHOLE | {"behind": 0}
    assert run.verify() == {}
    assert run.tasks.height == 21
    assert not list(place.spool.iterdir())
    # Credentials may be replaced while a run goes on: its links are signed again at the end.
    assert signed_at(finished.running) < signed_at(finished.card)
    # Somebody who tidies up meanwhile does no harm.
    assert synced[0].exit_code == 0
    assert "the run is in progress" in synced[0].output


def test_what_the_store_never_took_is_named_kept_and_brought_home_once(
    place: Range, tmp_path: Path
) -> None:
    finished = finished_run(place, "cut-off", last="bucket gone")
    card = finished.card
    spool = Path(card.links["spool"])

    assert finished.down  # the user's work had ended while the store still failed
    assert finished.result == RESULT
    assert finished.running.headline == "being recorded"
    assert card.completeness["recorded"] is False
    assert "there is no bucket" in card.completeness["reason"]
    assert card.completeness["reason"].count(str(spool)) == 1
    assert SECRET.encode() not in every_byte(place.spool) + card.to_json()
    for shown in (
        text(card, width=400),
        markdown(card),
        (spool / "report.html").read_text(),
    ):
        assert "there is no bucket" in shown
        assert "dask blackbox sync" in shown

    # The same spool, brought to two stores: the same bytes.
    twin = tmp_path / "twin"
    shutil.copytree(spool, twin / spool.name)
    place.proxy.work()
    codes = _two_syncs_at_once(place)
    one = {
        k: v for k, v in place.blobs(finished.folder).items() if "heartbeat" not in k
    }
    other = tmp_path / "other"
    assert place.sync("--spool", str(twin), "--store", str(other)).exit_code == 0

    assert codes == [0, 0]
    assert not list(place.spool.iterdir())
    assert opened(place, finished.folder).verify() == {}
    for name, blob in one.items():
        same = (other / name).read_bytes()
        if name.endswith(("card.json", "report.html", "complete.json")):
            continue  # links say where, and complete.json has the checksums of both
        assert blob == same, name


def _two_syncs_at_once(place: Range) -> list[int]:
    known = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    command = [
        sys.executable,
        "-m",
        "dask",
        "blackbox",
        "sync",
        "--spool",
        str(place.spool),
    ]
    both = [
        subprocess.Popen(command, env=os.environ | known, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    message = b"".join(each.communicate(timeout=scaled(120))[0] for each in both)
    assert message.count(b"now at") == 1
    return [each.returncode for each in both]


def test_what_failed_at_the_very_end_comes_home_with_the_next_recording(
    place: Range,
) -> None:
    finished = finished_run(
        place, "last-word", at_the_end="access denied", names="*complete.json"
    )
    before = place.blobs(finished.folder)
    waiting = list(place.spool.iterdir())
    place.proxy.work()
    came = threading.Event()
    follower = finished_run(
        place,
        "follower",
        in_the_midst=lambda: _until_gone(waiting[0], came),
    )
    after = place.blobs(finished.folder)

    assert "lack the permission" in finished.card.completeness["reason"]
    assert f"{finished.folder}complete.json" not in before
    assert came.is_set()
    assert follower.card.completeness == WHOLE
    assert opened(place, finished.folder).completeness == WHOLE
    changed = {name for name, blob in before.items() if after[name] != blob}
    # Links to S3 carry the moment at which they were made; nothing else may differ.
    assert changed <= {
        f"{finished.folder}{name}"
        for name in ("card.json", "report.html", "heartbeat.json")
    }
    cards = [
        json.loads(each[f"{finished.folder}card.json"]) for each in (before, after)
    ]
    # The checksum covers the links, which name the store.
    differing = {"links": 0, "crc": 0}
    assert cards[0] | differing == cards[1] | differing


def _until_gone(folder: Path, came: threading.Event) -> None:
    until(lambda: not folder.exists(), "the earlier recording to be brought home")
    came.set()
