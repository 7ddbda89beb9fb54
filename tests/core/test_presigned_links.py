"""Presigned links open without a login, so that they are printed to terminals only."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from dask_blackbox.card import RunCard, is_presigned, without_presigned_links
from dask_blackbox.settings import setting_seconds
from dask_blackbox.store import open_store
from dask_blackbox.testing import embedded_s3, recorded

pytestmark = pytest.mark.processes

URL = "s3://links/runs"
DAY = 24 * 3600


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """Return variables with which commands read a bucket with one run."""
    with embedded_s3() as server:
        variables = {
            "DASK_BLACKBOX__STORE__URL": URL,
            "DASK_BLACKBOX__STORE__ENDPOINT": server.endpoint,
            "DASK_BLACKBOX__STORE__KEY": server.key,
            "DASK_BLACKBOX__STORE__SECRET": server.secret,
            "DASK_BLACKBOX__STORE__REGION": server.region,
        }
        server.client().create_bucket(Bucket="links")
        settings = {
            name.rpartition("__")[2].lower(): value for name, value in variables.items()
        }
        recorded(open_store(None, settings=settings), run_id="r1")
        yield {**os.environ, **variables}


def _show(environment: dict[str, str], *words: str, **more: str) -> str:
    command = [sys.executable, "-m", "dask", "blackbox", "show", *words]
    done = subprocess.run(
        command, env=environment | more, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    "form", [(), pytest.param(("--json",), marks=pytest.mark.nightly)]
)
def test_no_link_is_printed_where_there_is_no_terminal(
    environment: dict[str, str], form: tuple[str, ...]
) -> None:
    shown = _show(environment, *form)

    assert "Signature" not in shown
    assert f"{URL}/runs/job=nightly/run=r1/attempt=1/report.html" in shown


def test_links_are_printed_where_they_are_asked_for(
    environment: dict[str, str],
) -> None:
    always = {"DASK_BLACKBOX__PRINT_LINKS": "always"}

    assert "X-Amz-Signature" in _show(environment, "--links")
    assert "X-Amz-Signature" in _show(environment, **always)
    assert "Signature" not in _show(environment, "--no-links", **always)


@pytest.mark.nightly
def test_links_are_printed_to_a_terminal(environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "dask", "blackbox", "show"],
        env=environment,
        stdout=theirs,
        stdin=subprocess.DEVNULL,
    ):
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # the other end was closed
            pass
    os.close(ours)

    assert b"X-Amz-Signature" in shown


@pytest.mark.nightly
def test_a_link_lives_for_one_day(environment: dict[str, str]) -> None:
    card = json.loads(_show(environment, "--json", "--links"))

    (lifetime,) = parse_qs(urlsplit(card["links"]["report"]).query)["X-Amz-Expires"]
    assert int(lifetime) == DAY == setting_seconds("store.link-expires")


def test_the_card_of_a_command_has_no_presigned_link(
    environment: dict[str, str], tmp_path: Path
) -> None:
    card = tmp_path / "card.json"
    command = [sys.executable, "-m", "dask", "blackbox", "run", "--card", str(card)]
    done = subprocess.run(
        [*command, "--", sys.executable, "-c", "pass"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert RunCard.from_json(card.read_bytes()).completeness["recorded"]
    assert not re.search("Signature=", card.read_text() + done.stderr)


def test_both_signatures_of_s3_are_known() -> None:
    old = "https://b.s3.amazonaws.com/p/report.html?AWSAccessKeyId=A&Signature=x"
    card = RunCard(
        job="j",
        run_id="r",
        attempt=1,
        state="failed",
        headline="",
        completeness={"recorded": True, "complete": True},
        links={"report": old, "recording": "s3://b/p/", "host": "https://h/?a=1"},
    )

    assert is_presigned(old)
    assert without_presigned_links(card).links == {
        "report": "s3://b/p/report.html",
        "recording": "s3://b/p/",
        "host": "https://h/?a=1",
    }
