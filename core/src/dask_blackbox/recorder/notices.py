"""Reports that a run has ended to addresses of the user's: the recorder outlives the driver.

Webhooks get JSON by a signed POST; other addresses are apprise's.  It takes a bounded time,
and what cannot be sent is a line in the log, without the address's credentials.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

from dask_blackbox.card import RunCard
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.layout import RunAddress, viewer_links
from dask_blackbox.protocol.messages import Config, Notify
from dask_blackbox.protocol.notify_settings import WEBHOOKS
from dask_blackbox.report.notice import Notice, notice_of, without_mentions

logger = logging.getLogger("dask_blackbox.recorder")

_SLACK = "hooks.slack.com"
_MAIL = ("mailto", "mailtos")
SIGNATURE = "X-Dask-Blackbox-Signature"

_KINDS = {
    "failed": "failure",
    "missing": "failure",
    "recovered": "success",
    "worse": "warning",
}
"""What news is to apprise, which gives it a colour, or an urgency where there is one."""

_PAUSES = (0.0, 1.0, 4.0)
_TIMEOUT = 5.0
_PATIENCE = 30.0


def send_notices(config: Config, card: RunCard, news: str) -> list[str]:
    """Send news of a run to every address; return what could not be sent, and log it."""
    notify = config.notify
    if news not in notify.when:
        return []
    address = RunAddress.of_run(card)
    viewer = None if config.viewer is None else viewer_links(config.viewer, address)
    notice = notice_of(
        card, news, run=address.name, page=None if viewer is None else viewer["report"]
    )
    return deliver(notify, notice, payload(card, news, notice, viewer or {}))


def payload(
    card: RunCard, news: str, notice: Notice, links: dict[str, str]
) -> dict[str, object]:
    """Return what webhooks get; `text` is what Slack and others show."""
    return {
        "text": without_mentions(f"{notice.subject}\n{notice.text}"),
        "news": news,
        "subject": notice.subject,
        "job": card.job,
        "run_id": card.run_id,
        "attempt": card.attempt,
        "state": card.state,
        "headline": card.headline,
        "verdict": None if card.verdict is None else card.verdict.rule,
        "confidence": None if card.verdict is None else card.verdict.confidence,
        "retry_advice": None if card.verdict is None else card.verdict.retry_advice,
        "links": links,
    }


def deliver(notify: Notify, notice: Notice, data: Mapping[str, object]) -> list[str]:
    """Send a notice to every address, all at once; return what could not be sent."""
    problems: list[str] = []

    def send(url: str) -> None:
        try:
            if urlsplit(url).scheme.lower() in WEBHOOKS:
                _post(url, _body(url, data), notify.secret)
            else:
                _by_apprise(url, notice)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is listed
            problems.append(f"{_named(url)}: {_without(url, str(error))}")

    # Daemons: an address that hangs does not keep the process.
    threads = [
        threading.Thread(target=send, args=(u,), daemon=True) for u in notify.urls
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _PATIENCE
    for thread, url in zip(threads, notify.urls, strict=True):
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            problems.append(f"{_named(url)}: no answer within {_PATIENCE:g} s")
    for each in problems:
        logger.warning("a notice was not sent to %s", each)
    return problems


def _body(url: str, data: Mapping[str, object]) -> bytes:
    text = data["text"]
    if urlsplit(url).hostname == _SLACK:
        text = escape(str(text), quote=False)  # as its documentation of texts says
    return msgspec.json.encode({**data, "text": text})


def _named(url: str) -> str:
    """Return an address without what is secret in it, which may be all but its scheme."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return (
        f"{scheme}://{parts.hostname or ''}" if scheme in WEBHOOKS else f"{scheme}://"
    )


def _without(url: str, text: str) -> str:
    return text.replace(url, _named(url))[:300]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A body that was signed for one server is not sent to another."""

    def redirect_request(self, *_: object) -> None:
        return None


def _post(url: str, body: bytes, secret: str | None) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "dask-blackbox"}
    if secret:
        digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        headers[SIGNATURE] = f"sha256={digest}"
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - http or https
    opener = urllib.request.build_opener(_NoRedirects)
    for number, pause in enumerate(_PAUSES, 1):
        time.sleep(pause)
        try:
            with opener.open(request, timeout=_TIMEOUT):
                return
        except urllib.error.HTTPError as error:
            error.close()
            # Another attempt helps only if the server is the one in trouble.
            final = error.code < HTTPStatus.INTERNAL_SERVER_ERROR
            busy = error.code == HTTPStatus.TOO_MANY_REQUESTS
            if (final and not busy) or number == len(_PAUSES):
                raise
        except OSError:
            if number == len(_PAUSES):
                raise


def _by_apprise(url: str, notice: Notice) -> None:
    import apprise

    sender = apprise.Apprise()
    if not sender.add(url):
        raise ConfigurationError("apprise cannot read this address")
    for service in sender if urlsplit(url).scheme.lower() in _MAIL else ():
        # As HTML, its spaces would not break: no long line fits, no command can be pasted.
        service.notify_format = apprise.NotifyFormat.TEXT
    # Without its format, a text is HTML to Telegram and others, which refuses what is none.
    accepted = sender.notify(
        title=without_mentions(notice.subject),
        body=without_mentions(notice.text),
        body_format=apprise.NotifyFormat.TEXT,
        notify_type=_KINDS[notice.news],
    )
    if not accepted:
        raise ConfigurationError("the service did not accept it")
