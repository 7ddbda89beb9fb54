"""`dask blackbox …`, as it is typed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import dask
import pytest
from click.testing import CliRunner, Result
from conditions import scaled
from dask_blackbox.card import RunCard
from dask_blackbox.cli import VERBS, blackbox
from dask_blackbox.testing import EPOCH, EmbeddedS3, a_log
from stored_runs import Shelf

pytestmark = pytest.mark.processes

DASK = [sys.executable, "-m", "dask", "blackbox"]


def typed(*words: str) -> Result:
    """Return what came of typing `dask blackbox` and these words."""
    return CliRunner().invoke(blackbox, words, catch_exceptions=False)


def test_dask_knows_every_verb_and_what_it_is_for() -> None:
    printed = subprocess.run(
        [*DASK, "--help"], check=True, capture_output=True, text=True
    ).stdout

    for verb, purpose in VERBS.items():
        assert re.search(rf"{verb}\s+{re.escape(purpose)}", printed)


@pytest.mark.parametrize("verb", list(VERBS))
def test_each_verb_explains_itself(verb: str) -> None:
    result = typed(verb, "--help")

    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_the_entry_point_loads_nothing_heavy() -> None:
    heavy = ("distributed", "boto3", "polars", "fastapi", "uvicorn", "bokeh", "rich")
    code = f"import sys, dask_blackbox.cli; print([m for m in {heavy} if m in sys.modules])"

    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout

    assert printed.strip() == "[]"


def test_ls_shows_the_newest_runs_with_their_names_for_show(shelf: Shelf) -> None:
    shelf.record("nightly", "run-1", started=EPOCH, state="failed", headline="no disk")
    shelf.record("week/ly", "run:2", started=EPOCH + 60, attempt=3)

    result = typed("ls", "--store", shelf.url)

    lines = result.stdout.splitlines()
    assert lines[0].split() == ["STATE", "RUN", "STARTED", "TOOK", "HEADLINE"]
    assert "week/ly/run:2/3" in lines[1]
    assert "2026-11-21 03:01:00 UTC" in lines[1]
    assert "failed" in lines[2]
    assert lines[2].endswith("3 m 12 s  no disk")
    assert typed("show", "week/ly/run:2/3", "--store", shelf.url).exit_code == 0


def test_ls_narrows_to_a_job_and_a_number(shelf: Shelf) -> None:
    for n in range(3):
        shelf.record("nightly", f"run-{n}", started=EPOCH + n)
    shelf.record("weekly", "other", started=EPOCH + 9)

    result = typed("ls", "--store", shelf.url, "--job", "nightly", "--limit", "2")

    names = [line.split()[2] for line in result.stdout.splitlines()[1:]]
    assert names == ["nightly/run-2/1", "nightly/run-1/1"]
    assert "--limit" in result.stderr


def test_ls_as_json_is_an_object_per_line(shelf: Shelf) -> None:
    shelf.record("a/b", "run-1", started=EPOCH, state="lost")

    result = typed("ls", "--store", shelf.url, "--json")

    (row,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert row["job"] == "a/b"
    assert row["state"] == "lost"
    assert row["started"] == EPOCH


def test_ls_of_an_empty_store_reports_that_it_is_empty(shelf: Shelf) -> None:
    Path(shelf.url).mkdir()

    result = typed("ls", "--store", shelf.url)

    assert result.exit_code == 0
    assert f"No run in {shelf.url}" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["ls"],
        ["ls", "--json"],
        ["ls", "--job", "nightly"],
        ["show"],
        ["why", "nightly/run-1"],
        ["compare", "run-1", "run-2"],
        ["history", "nightly"],
        ["prune", "--older-than", "30d"],
        ["rm", "--job", "nightly"],
        ["reap"],
    ],
)
def test_a_folder_that_does_not_exist_is_named_with_what_to_do(
    tmp_path: Path, words: list[str]
) -> None:
    nowhere = tmp_path / "recordngs"

    result = typed(*words, "--store", str(nowhere))

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        f"dask blackbox: there is no folder {nowhere}; name the store that your runs "
        "record into with `--store` or the setting `blackbox.store.url` "
        "(`dask blackbox doctor` shows what is set)\n"
    )
    assert not nowhere.exists()


@pytest.mark.parametrize("words", [["ls"], ["show"], ["why"], ["compare", "a", "b"]])
def test_a_bucket_that_does_not_exist_is_named_with_what_to_do(
    s3: EmbeddedS3, words: list[str]
) -> None:
    with dask.config.set({f"blackbox.store.{k}": v for k, v in s3.settings.items()}):
        result = typed(*words, "--store", "s3://no-such-bucket/runs")

    assert result.exit_code == 1
    assert "there is no bucket 'no-such-bucket' at " in result.stderr
    assert "aws s3 mb s3://no-such-bucket" in result.stderr


@pytest.mark.parametrize(
    "name", ["latest", "nightly", "nightly/run-2", "nightly/run-2/1", "nightly/run-"]
)
def test_show_prints_the_card_of_whatever_name_the_run_goes_by(
    shelf: Shelf, name: str
) -> None:
    shelf.record("nightly", "run-2", started=EPOCH, headline="all is well")

    result = typed("show", name, "--store", shelf.url)

    assert result.exit_code == 0
    assert "SUCCEEDED" in result.stdout
    assert "all is well" in result.stdout


def test_show_as_json_is_the_card_with_links_that_open_now(shelf: Shelf) -> None:
    links = {"report": "https://expired.example.com/", "dashboard": "http://d:8787/"}
    at = shelf.record(headline="all is well", links=links)

    result = typed("show", "latest", "--json", "--store", shelf.url)

    card = RunCard.from_json(result.stdout)
    assert card.headline == "all is well"
    assert card.links["dashboard"] == "http://d:8787/"
    assert card.links["report"] == shelf.store.link(
        f"{at.folder}report.html", expires=60
    )


@pytest.mark.parametrize("state", ["running", "lost"])
def test_show_works_before_the_end_and_after_a_silent_one(
    shelf: Shelf, state: str
) -> None:
    shelf.record(state=state)

    result = typed("show", "latest", "--json", "--store", shelf.url)

    assert json.loads(result.stdout)["state"] == state


@pytest.mark.parametrize("verb", ["show", "logs", "report"])
def test_a_run_that_is_not_there_is_one_line_and_exit_code_1(
    shelf: Shelf, verb: str
) -> None:
    shelf.record()

    result = typed(verb, "nobody", "--store", shelf.url)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert re.fullmatch(r"dask blackbox: .*nobody.*\n", result.stderr)


@pytest.mark.parametrize("verb", ["ls", "serve"])
def test_a_store_that_cannot_be_is_one_line_and_exit_code_2(verb: str) -> None:
    result = typed(verb, "--store", "ftp://example.com/x")

    assert result.exit_code == 2
    assert result.stderr.startswith("dask blackbox: ")
    assert result.stderr.count("\n") == 1


def test_logs_prints_what_was_asked_for(shelf: Shelf) -> None:
    fine, not_fine = a_log("fine", at=1), a_log("not fine", at=2, level=40)
    shelf.record("nightly", "run-1", fine, not_fine)

    result = typed("logs", "latest", "--store", shelf.url, "--level", "error")

    assert result.stdout == (
        "2026-11-21T03:00:02.000Z tcp://10.0.0.1:40001 ERROR    distributed.worker: not fine\n"
    )


def test_logs_without_a_match_reports_why_on_stderr(shelf: Shelf) -> None:
    shelf.record("nightly", "run-1", a_log("fine"))

    result = typed("logs", "latest", "--store", shelf.url, "--level", "error")

    assert result.exit_code == 0
    assert result.stdout == ""
    assert "the highest is INFO" in result.stderr


def test_logs_as_json_can_be_read_line_by_line(shelf: Shelf) -> None:
    shelf.record("nightly", "run-1", a_log("two\nlines"))

    result = typed("logs", "latest", "--store", shelf.url, "--json")

    assert json.loads(result.stdout)["message"] == "two\nlines"


def test_a_reader_that_stops_reading_is_no_error(shelf: Shelf) -> None:
    shelf.record("nightly", "run-1", *(a_log("x" * 200) for _ in range(5000)))
    command = [*DASK, "logs", "latest", "--store", shelf.url]

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        printed = process.stderr.read()

    assert printed == ""


def test_report_writes_the_stored_report(shelf: Shelf, tmp_path: Path) -> None:
    shelf.record()
    output = tmp_path / "mine.html"

    result = typed("report", "latest", "--store", shelf.url, "-o", str(output))

    assert result.stdout == f"{output}\n"
    assert "the report" in output.read_text()


def test_report_of_a_lost_run_is_rendered(shelf: Shelf, tmp_path: Path) -> None:
    shelf.record("nightly", "gone", state="lost")

    result = typed("report", "nightly", "--store", shelf.url, "-o", str(tmp_path))

    assert result.stdout == f"{tmp_path}/nightly-gone-1.html\n"
    assert "nightly" in (tmp_path / "nightly-gone-1.html").read_text()


def test_a_report_that_cannot_be_written_reports_what_to_do(
    shelf: Shelf, tmp_path: Path
) -> None:
    shelf.record()
    nowhere = str(tmp_path / "no" / "such" / "folder.html")

    result = typed("report", "latest", "--store", shelf.url, "-o", nowhere)

    assert result.exit_code == 2
    assert "--output" in result.stderr


def test_serve_prints_where_it_listens_and_ends_with_ctrl_c(shelf: Shelf) -> None:
    shelf.record("nightly")
    command = [*DASK, "serve", "--store", shelf.url, "--port", "0"]
    environ = os.environ | {"PYTHONUNBUFFERED": "1"}

    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    ) as process:
        rescue = threading.Timer(60, process.kill)
        rescue.start()
        assert process.stdout is not None
        match = re.search(r"http://127\.0\.0\.1:\d+/\S*", process.stdout.readline())
        assert match is not None
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(match[0].partition("?")[0], timeout=scaled(30))
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(match[0], timeout=scaled(30)) as answer:
            page = answer.read().decode()
            assert "token" not in answer.url
        process.send_signal(signal.SIGINT)
        _, logged = process.communicate(timeout=scaled(30))
        rescue.cancel()

    assert "nightly" in page
    assert process.returncode == 0
    token = match[0].partition("token=")[2]
    assert token not in logged
    assert re.search(r'127\.0\.0\.1 "GET /" 403 \d+ ms', logged)
    assert re.search(r'127\.0\.0\.1 "GET /" 200 \d+ ms', logged)


def test_serve_to_others_warns_that_there_is_no_login(shelf: Shelf) -> None:
    # An address for documentation, which no machine has: it warns, and cannot listen.
    result = typed("serve", "--store", shelf.url, "--host", "192.0.2.1", "--no-token")

    assert result.exit_code == 2
    assert "There is no login: anyone who can reach 192.0.2.1" in result.stderr
    assert "cannot listen on 192.0.2.1 port 8899" in result.stderr
    assert "--host" in result.stderr
