"""The settings under `blackbox.notify`: who receives the notice that a run has ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from urllib.parse import urlsplit

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.protocol.messages import Notify
from dask_blackbox.settings import setting, setting_classes

logger = logging.getLogger("dask_blackbox")

NEWS = ("failed", "recovered", "worse")
WEBHOOKS = ("http", "https")
"""Schemes of addresses that get JSON; all others are apprise's."""

_MOST = 20


def notify_set() -> Notify:
    """Return the settings under `blackbox.notify`; a mistake in them is a line in the log.

    A run is recorded all the same: who made the mistake learns of it in the driver's log.
    """
    try:
        urls = setting("notify.urls") or ()
        urls = (urls,) if isinstance(urls, str) else tuple(map(str, urls))
        secret = setting("notify.secret")
        return Notify(
            urls=_checked(urls),
            when=setting_classes("notify.when", NEWS, "kind of news"),
            secret=None if secret is None else str(secret),
        )
    except ConfigurationError as error:
        logger.warning("no notices are sent: %s", error)
        return Notify()


def _checked(urls: Sequence[str]) -> tuple[str, ...]:
    if len(urls) > _MOST:
        raise ConfigurationError(
            f"blackbox.notify.urls has {len(urls)} addresses; {_MOST} are possible"
        )
    for number, url in enumerate(urls, 1):
        scheme = urlsplit(url).scheme.lower()
        if not scheme:
            raise ConfigurationError(
                f"address {number} of blackbox.notify.urls has no scheme; give one like "
                "'https://example.com/hook' or 'slack://TOKEN/CHANNEL'"
            )
        if scheme not in WEBHOOKS and find_spec("apprise") is None:
            raise ConfigurationError(
                f"blackbox.notify.urls has a {scheme}:// address, which needs apprise: "
                "pip install 'dask-blackbox[notify]'"
            )
    return tuple(urls)
