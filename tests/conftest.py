"""What production swallows at the border to the host fails a test here."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import hypothesis
import pytest
from dask_blackbox.guard import kept

# How fast examples are made is a matter of the machine, and of who else uses it.
hypothesis.settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("default")

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
