"""What production swallows at the border to the host fails a test here."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from conditions import LOAD_FACTOR, scaled
from dask_blackbox.guard import kept

# How fast examples are made is a matter of the machine, and of who else uses it.  They are
# the same ones in each run of what protects a change, so that it fails for that change only;
# those of each night are new.
hypothesis.settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="TEST_NEW_EXAMPLES" not in os.environ,
    print_blob=True,
)
hypothesis.settings.load_profile("default")


class _FailuresAtOnce:
    """Prints the name of a test as soon as it fails, and why in a line.

    The summary comes an hour later, or never if somebody ends the run.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = str(getattr(crash, "message", report.when)).partition("\n")[0]
            reporter.write_line(f"\nfailed now: {report.nodeid}: {why[:300]}")


def pytest_configure(config: pytest.Config) -> None:
    """Have failures printed at once, by the process that reports them."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_FailuresAtOnce(config))


_OF_A_FILE = {"module", "class"}
_CHEAP = {"homes"}
"""Fixtures that each process may as well set up again."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Keep tests together that share something, and scale what pytest-timeout allows.

    Any process runs any test, but tests with a fixture of their file, so that what
    that starts starts once.
    """
    for item in items:
        if config.pluginmanager.hasplugin("xdist") and _shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
        if LOAD_FACTOR > 1:
            item.add_marker(
                pytest.mark.timeout(scaled(_seconds_allowed(config, item))),
                append=False,
            )


def _shares_a_fixture(item: pytest.Item) -> bool:
    found = getattr(item, "_fixtureinfo", None)
    definitions = found.name2fixturedefs if found else {}
    return any(
        each[-1].scope in _OF_A_FILE and name not in _CHEAP
        for name, each in definitions.items()
    )


def _seconds_allowed(config: pytest.Config, item: pytest.Item) -> float:
    marked = item.get_closest_marker("timeout")
    return float(marked.args[0] if marked else config.getini("timeout") or 0.0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool]:
    """Write what a test took to the file that `TEST_COSTS` names.

    CPU seconds of its process and of children that ended, fixtures included.  What a
    detached recorder takes is not among them.
    """
    before = os.times()
    handled = yield
    if costs := os.environ.get("TEST_COSTS"):
        now = os.times()
        cpu = sum(now[:4]) - sum(before[:4])
        line = f"{cpu:.2f}\t{now.elapsed - before.elapsed:.2f}\t{item.nodeid}\n"
        with Path(costs).open("a", encoding="utf-8") as file:
            file.write(line)
    return bool(handled)


Swallowed = deque[tuple[str, BaseException]]


@pytest.fixture
def swallowed() -> Swallowed:
    """What the guard kept during this test: (what we were doing, the exception).

    A test that asks for it expects something there, and looks at it.
    """
    return kept


@pytest.fixture(autouse=True)
def _the_guard_raises(request: pytest.FixtureRequest) -> Iterator[None]:
    kept.clear()
    yield
    found = list(kept)
    kept.clear()
    if found and "swallowed" not in request.fixturenames:
        doing, error = found[0]
        more = f" (and {len(found) - 1} more)" if found[1:] else ""
        raise AssertionError(f"the guard swallowed this while {doing}{more}") from error
