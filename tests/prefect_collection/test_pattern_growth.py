"""The time of every pattern of this package grows as the text does."""

from __future__ import annotations

import pytest
from dask_blackbox.patterns import bounded
from pattern_growth import growth_of, patterns_of


@pytest.mark.nightly
def test_the_time_of_every_pattern_grows_as_the_text() -> None:
    found = patterns_of("prefect_dask_blackbox", bounded)

    slow = {
        f"{each.where}: {each.pattern.pattern[:200]}": growth
        for each in found
        if (growth := growth_of(each.pattern, each.use))
    }

    assert found
    assert slow == {}
