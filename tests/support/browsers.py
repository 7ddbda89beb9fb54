"""Chromium, for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conditions import scaled
from playwright.sync_api import Browser, expect, sync_playwright

__all__ = ["NEEDS_CHROMIUM", "a_browser"]

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")

NEEDS_CHROMIUM = pytest.mark.skipif(
    _CHROMIUM is None, reason="needs Chromium: apt install chromium"
)

# A page that follows a run is asked again and again: Playwright's five seconds are too few
# beside other tests.
expect.set_options(timeout=scaled(120_000))


@contextmanager
def a_browser(*options: str) -> Iterator[Browser]:
    """Return Chromium, started with more options."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=_CHROMIUM, args=[*_OPTIONS, *options]
        )
        yield browser
        browser.close()
