"""Who may ask the viewer, and what each of its answers says of itself."""

from __future__ import annotations

import logging
import urllib.error
import urllib.request
from email.message import Message
from typing import Any

import pytest
from app_server import Served, page_of, served
from dask_blackbox.serve import create_app
from dask_blackbox.store import MemoryStore
from stored_runs import Shelf

TOKEN = "0123456789-abcdef"
PATHS = ("/", "/api/runs", "/static/viewer.css", "/openapi.json", "/nothing")


class _Failing(MemoryStore):
    def names(self, *args: Any, **options: Any) -> Any:
        raise ZeroDivisionError("a mistake of ours")


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_answered(shelf: Shelf, path: str) -> None:
    with served(create_app(shelf.store, token=TOKEN)) as ask:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "a=b; c"}):
            answer = ask(path, **headers)
            assert answer.status == 403
            assert "dask blackbox serve" in answer.text
        assert ask(f"{path}?token=wrong").status == 403
        assert ask(path, method="HEAD").status == 403


@pytest.mark.parametrize("path", ["/", "/?job=nightly"])
def test_the_printed_address_lets_a_browser_in_and_is_forgotten(
    shelf: Shelf, path: str
) -> None:
    at = shelf.record("nightly")
    with served(create_app(shelf.store, token=TOKEN)) as ask:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        joint = "&" if "?" in path else "?"
        with browser.open(f"{ask.url}{path}{joint}token={TOKEN}") as page:
            assert TOKEN not in page.url
        with browser.open(f"{ask.url}{page_of(at)}") as page:
            assert "it succeeded" in page.read().decode()


@pytest.mark.parametrize("kind", ["Bearer", "token"])
def test_programs_send_the_token_in_a_header(shelf: Shelf, kind: str) -> None:
    with served(create_app(shelf.store, token=TOKEN)) as ask:
        assert ask("/api/runs", Authorization=f"{kind} {TOKEN}").status == 200
        assert ask("/openapi.json", Authorization=f"{kind} {TOKEN}").status == 200


def test_without_a_token_the_api_is_not_described(shelf: Shelf) -> None:
    with served(create_app(shelf.store)) as ask:
        assert ask("/openapi.json").status == 404


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("rebound.example.com", 400),
        ("rebound.example.com:8899", 400),
        ("127.0.0.1.example.com", 400),
        ("", 400),
        ("viewer.example.com", 200),
        ("VIEWER.example.com:8899", 200),
        ("192.0.2.7:8899", 200),
        ("[2001:db8::1]:8899", 200),
    ],
)
def test_foreign_names_are_refused_at_any_address(
    shelf: Shelf, host: str, status: int
) -> None:
    with served(create_app(shelf.store, hosts=["viewer.example.com"])) as ask:
        assert ask("/", Host=host).status == status


def test_every_answer_has_the_headers_of_security(shelf: Shelf) -> None:
    at = shelf.record()
    fine = create_app(shelf.store, hosts=["localhost"])
    with served(fine) as ask, served(create_app(_Failing())) as failing:
        answers = [ask(path) for path in (*PATHS, page_of(at), f"{page_of(at)}/live")]
        answers += [ask(f"{page_of(at)}/report.html"), ask("/", Host="evil.example")]
        answers += [ask("/", method="DELETE"), failing("/"), failing("/api/runs")]

    assert {each.status for each in answers} >= {200, 400, 404, 405, 500}
    for each in answers:
        assert "default-src 'none'" in each.headers["content-security-policy"]
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["referrer-policy"] == "no-referrer"
        if "css" not in each.headers["content-type"]:
            assert each.headers["cache-control"] == "private, no-store"
    assert "a mistake of ours" not in answers[-1].text


def test_requests_are_logged_without_the_token(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="dask_blackbox.serve.access")
    with served(create_app(shelf.store, token=TOKEN)) as ask:
        ask(f"/?job=a%0Ab&token={TOKEN}")
        ask("/api/runs", Authorization=f"Bearer {TOKEN}")
        ask("/nothing%1b[2J")

    lines = [each.getMessage() for each in caplog.records if "access" in each.name]
    assert TOKEN not in "".join(lines)
    assert any('"GET /api/runs" 200' in line for line in lines)
    assert any('" 403 ' in line for line in lines)
    assert all(line.isprintable() for line in lines)


def test_a_viewer_asked_by_browsers_needs_no_more_than_its_cookie(shelf: Shelf) -> None:
    with served(create_app(shelf.store, token=TOKEN)) as ask:
        answer = _first_answer(ask, "/")
        cookie = answer["Set-Cookie"]

        assert "HttpOnly" in cookie
        assert "samesite=lax" in cookie.lower()
        assert ask("/", Cookie=cookie.partition(";")[0]).status == 200


def test_nobody_is_sent_to_another_server(shelf: Shelf) -> None:
    with served(create_app(shelf.store, token=TOKEN)) as ask:
        assert _first_answer(ask, "//example.com/")["Location"] == "/example.com/"


def _first_answer(ask: Served, path: str) -> Message:
    """Return the headers of the answer to a request with the token."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: Any, **more: Any) -> None:
            return None

    opener = urllib.request.build_opener(Stay())
    with pytest.raises(urllib.error.HTTPError) as seen:
        opener.open(f"{ask.url}{path}?token={TOKEN}")
    with seen.value as error:
        return error.headers
