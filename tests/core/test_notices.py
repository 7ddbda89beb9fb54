"""The end of a run is reported to people who are not looking, whatever became of its driver."""

from __future__ import annotations

import email.message
import hashlib
import hmac
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from email.header import decode_header, make_header
from pathlib import Path
from typing import Any

import aiosmtpd.controller
import aiosmtpd.handlers
import dask.config
import msgspec
import pytest
from click.testing import CliRunner
from conditions import until
from dask_blackbox.analyse import History
from dask_blackbox.card import RunCard
from dask_blackbox.cli import blackbox
from dask_blackbox.finding import Finding
from dask_blackbox.job_history import EarlierAttempt, Past
from dask_blackbox.layout import STOPPED_BY_HOST, RunAddress, SketchName
from dask_blackbox.manifest import Manifest
from dask_blackbox.protocol.messages import Config, Notify
from dask_blackbox.protocol.notify_settings import notify_set
from dask_blackbox.recorder.news import news_of
from dask_blackbox.recorder.notices import SIGNATURE, send_notices
from http_receiver import Receiver, receiver
from stored_runs import Shelf

pytestmark = pytest.mark.processes

TOKEN = "hook-token-0123456789"


def secret_url(hook: Receiver) -> str:
    """Return the address of a webhook whose path is a secret."""
    return f"{hook.url}/{TOKEN}"


def posted(hook: Receiver) -> list[dict[str, Any]]:
    """Return what was posted, in its order."""
    return [each.json() for each in hook.posts]


def a_card(state: Any = "failed", rule: str = "task-exception", **more: Any) -> RunCard:
    verdict = Finding(
        rule=rule,
        title="KeyError in 'clean'",
        cause="The column 'price' is missing.",
        severity="failure",
        confidence="high",
        remedy="Add the column.",
    )
    return RunCard(
        job="nightly",
        run_id="run-7",
        attempt=1,
        state=state,
        headline="KeyError in 'clean'" if state == "failed" else "Succeeded",
        verdict=verdict if state != "succeeded" else None,
        completeness={"recorded": True, "complete": True},
        **more,
    )


def config(*urls: str, **more: Any) -> Config:
    manifest = Manifest(recording="x", job="nightly", run_id="run-7", started=1.0)
    notify = Notify(urls=urls, when=("failed", "recovered"), secret="signing")
    return Config(manifest=manifest, spool="", notify=notify, **more)


def a_run(state: str, verdict: str | None = None) -> SketchName:
    address = RunAddress("nightly", "run-6", 1)
    return SketchName(
        name="", address=address, started_ms=0, state=state, verdict=verdict
    )


@pytest.mark.parametrize(
    ("card", "history", "news"),
    [
        (a_card(), None, "failed"),
        (a_card("aborted"), History(names=(a_run("succeeded"),)), "failed"),
        (a_card(rule=STOPPED_BY_HOST), None, ""),
        (
            a_card(
                past=Past(
                    attempts=(
                        EarlierAttempt(attempt=1, state="failed", same_failure=True),
                    )
                )
            ),
            None,
            "",
        ),
        (a_card("succeeded"), None, ""),
        (a_card("succeeded"), History(names=(a_run("succeeded"),)), ""),
        (
            a_card("succeeded"),
            History(names=(a_run("failed"), a_run("succeeded"))),
            "recovered",
        ),
        (
            a_card("succeeded"),
            History(names=(a_run("failed", STOPPED_BY_HOST), a_run("succeeded"))),
            "",
        ),
        (
            a_card("succeeded"),
            History(names=(a_run("succeeded"),), tries=(a_run("failed"),)),
            "recovered",
        ),
        (
            a_card(
                "succeeded",
                findings=(
                    Finding(
                        rule="slower-than-usual",
                        title="Slower than usual",
                        cause="",
                        severity="warning",
                        confidence="high",
                        remedy="",
                    ),
                ),
            ),
            None,
            "worse",
        ),
    ],
    ids=[
        "failed",
        "aborted",
        "stopped by its host",
        "a retry that failed alike",
        "succeeded",
        "succeeded again",
        "recovered",
        "after one that was stopped",
        "a retry that succeeded",
        "slower",
    ],
)
def test_what_is_news(card: RunCard, history: History | None, news: str) -> None:
    assert news_of(card, history) == news


def test_a_webhook_gets_signed_json_with_verdict_and_remedy() -> None:
    with receiver() as hook:
        assert send_notices(config(secret_url(hook)), a_card(), "failed") == []

    [found] = posted(hook)
    assert found["subject"] == "nightly: KeyError in 'clean'"
    assert (found["verdict"], found["news"]) == ("task-exception", "failed")
    assert "What to do: Add the column." in found["text"]
    assert "dask blackbox why nightly/run-7/1" in found["text"]
    digest = hmac.new(b"signing", hook.posts[0].body, hashlib.sha256).hexdigest()
    assert hook.posts[0].headers[SIGNATURE.lower()] == f"sha256={digest}"


def test_with_a_viewer_the_notice_has_the_address_of_the_page() -> None:
    with receiver() as hook:
        viewed = config(secret_url(hook), viewer="https://dask.example.org")
        send_notices(viewed, a_card(), "failed")

    page = "https://dask.example.org/runs/nightly/run-7/1/report.html"
    assert posted(hook)[0]["links"]["report"] == page
    assert f"More: {page}" in posted(hook)[0]["text"]


def test_what_is_not_wanted_is_not_sent() -> None:
    with receiver() as hook:
        assert (
            send_notices(config(secret_url(hook)), a_card("succeeded"), "worse") == []
        )
        assert send_notices(config(secret_url(hook)), a_card("succeeded"), "") == []

    assert hook.posts == []


@pytest.mark.parametrize(
    ("codes", "requests", "problems"),
    [((503, 204), 2, 0), ((404,), 1, 1), ((302,), 1, 1)],
    ids=["in trouble", "not there", "elsewhere"],
)
def test_only_what_may_help_is_tried_again(
    codes: tuple[int, ...], requests: int, problems: int
) -> None:
    with receiver(*codes) as hook:
        found = send_notices(config(secret_url(hook)), a_card(), "failed")

    assert len(hook.posts) == requests
    assert len(found) == problems
    assert TOKEN not in "".join(found)


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_other_addresses_are_apprises() -> None:
    with receiver() as hook:
        url = secret_url(hook).replace("http://", "json://")
        assert send_notices(config(url), a_card(), "failed") == []
        refused = send_notices(
            config("nosuchservice://secret-word"), a_card(), "failed"
        )

    [found] = posted(hook)
    assert found["title"] == "nightly: KeyError in 'clean'"
    assert "Add the column." in found["message"]
    assert refused == ["nosuchservice://: apprise cannot read this address"]


HOSTILE = "ValueError: <!channel> @here <https://evil.example|click> <img src=x> a@here.example"


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
@pytest.mark.parametrize("scheme", ["http", "json", "mmost"])
def test_what_a_program_printed_mentions_nobody_in_a_chat(scheme: str) -> None:
    with receiver(200) as hook:
        url = secret_url(hook).replace("http://", f"{scheme}://")
        card = msgspec.structs.replace(a_card(), headline=HOSTILE)
        assert send_notices(config(url), card, "failed") == []

    text = "".join(
        str(posted(hook)[0].get(name)) for name in ("text", "title", "message")
    )
    assert "ValueError: <\u200b!channel> @\u200bhere <\u200bhttps://evil" in text
    assert "a@here.example" in text
    assert "<!channel>" not in text


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_a_service_that_shows_html_gets_the_text_escaped() -> None:
    with receiver() as hook:
        url = secret_url(hook).replace("http://", "json://") + "?format=html"
        card = msgspec.structs.replace(a_card(), job="<b>nightly</b>", run_id="<img>")
        assert send_notices(config(url), card, "failed") == []

    assert "Run:&nbsp;&lt;img&gt;" in posted(hook)[0]["message"]


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_a_mail_has_each_line_as_it_is() -> None:
    mails: list[email.message.Message] = []

    class Inbox(aiosmtpd.handlers.Message):
        def handle_message(self, message: email.message.Message) -> None:
            mails.append(message)

    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = aiosmtpd.controller.Controller(Inbox(), hostname="127.0.0.1", port=port)
    server.start()
    try:
        url = f"mailto://127.0.0.1:{port}?from=dask@example.com&to=oncall@example.com"
        card = msgspec.structs.replace(a_card(), headline=HOSTILE)
        assert send_notices(config(url), card, "failed") == []
    finally:
        server.stop()

    [mail] = mails
    assert "nightly: ValueError" in str(make_header(decode_header(mail["Subject"])))
    assert mail.get_content_type() == "text/plain"
    body = mail.get_payload(decode=True)
    assert isinstance(body, bytes)
    assert body.decode().splitlines() == [
        "Run: run-7, attempt 1",
        "Why: The column 'price' is missing.",
        "What to do: Add the column.",
        "Retry: unknown",
        "",
        "More: dask blackbox why nightly/run-7/1",
    ]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"notify.urls": ["example.com"]}, "has no scheme"),
        ({"notify.when": ["broken"]}, "no kind of news 'broken'"),
        ({"notify.urls": ["https://example.com"] * 21}, "20 are possible"),
    ],
    ids=["scheme", "news", "many"],
)
def test_a_mistake_in_the_settings_is_a_line_in_the_log(
    settings: dict[str, object], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    with dask.config.set({f"blackbox.{name}": v for name, v in settings.items()}):
        assert notify_set() == Notify()

    assert says in caplog.text


def test_an_environment_variable_names_one_address() -> None:
    with dask.config.set({"blackbox.notify.urls": "https://example.com/hook"}):
        assert notify_set().urls == ("https://example.com/hook",)
        assert notify_set().when == ("failed", "recovered")


_DRIVER = """
import sys, time
from distributed import Client, LocalCluster
from dask_blackbox import recording

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client, recording(client, store=sys.argv[1], job="nightly"):
            client.submit(int, 1).result()
            print("working", flush=True)
            time.sleep(600)
"""


def test_a_driver_that_is_killed_is_reported_without_a_host(tmp_path: Path) -> None:
    script = tmp_path / "nightly.py"
    script.write_text(_DRIVER)
    store = tmp_path / "store"
    with receiver() as hook:
        environ = os.environ | {"DASK_BLACKBOX__NOTIFY__URLS": secret_url(hook)}
        with subprocess.Popen(
            [sys.executable, str(script), str(store)],
            env=environ,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "working\n"
            os.kill(driver.pid, signal.SIGKILL)
        until(lambda: hook.posts)

    [found] = posted(hook)
    assert (found["job"], found["state"]) == ("nightly", "aborted")
    assert found["verdict"] == "driver-killed"
    stored = [path.read_bytes() for path in store.rglob("*") if path.is_file()]
    assert stored
    assert not [blob for blob in stored if TOKEN.encode() in blob]


def test_a_job_that_does_not_run_is_reported(shelf: Shelf) -> None:
    shelf.record("hourly", "run-1", started=time.time() - 60)
    shelf.record("nightly", "run-1", started=time.time() - 3 * 86_400)
    jobs = ["hourly=2h", "nightly=26h", "yearly=366 days"]
    with (
        receiver() as hook,
        dask.config.set({"blackbox.notify.urls": [secret_url(hook)]}),
    ):
        command = ["watch", *jobs, "--store", shelf.url]
        result = CliRunner().invoke(blackbox, command, catch_exceptions=False)

    assert result.exit_code == 3
    assert "✓ hourly: started" in result.output
    assert "✗ nightly did not start within 1 d 02 h" in result.output
    assert "✗ yearly did not start within 366 d" in result.output
    assert [(each["job"], each["news"]) for each in posted(hook)] == [
        ("nightly", "missing"),
        ("yearly", "missing"),
    ]


def test_when_all_jobs_ran_nothing_is_sent(shelf: Shelf) -> None:
    shelf.record("hourly", "run-1", started=time.time() - 60)
    with (
        receiver() as hook,
        dask.config.set({"blackbox.notify.urls": [secret_url(hook)]}),
    ):
        command = ["watch", "hourly=2h", "--store", shelf.url, "--quiet"]
        result = CliRunner().invoke(blackbox, command, catch_exceptions=False)

    assert (result.exit_code, result.output, hook.posts) == (0, "", [])


@pytest.mark.parametrize("wrong", ["hourly", "hourly=2", "=2h", "hourly=soon"])
def test_a_wrong_expectation_is_refused(shelf: Shelf, wrong: str) -> None:
    result = CliRunner().invoke(blackbox, ["watch", wrong, "--store", shelf.url])

    assert result.exit_code == 2
    assert "hourly" in result.output or "2h" in result.output
