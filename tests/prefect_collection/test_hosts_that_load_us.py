"""Prefect starts whatever of ours cannot be imported."""

from __future__ import annotations

import pytest
from failing_imports import CASES, failures


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=[pytest.mark.nightly] * (each != "in core"))
        for each in CASES["prefect"]
    ],
)
@pytest.mark.timeout(900)
def test_prefect_starts_whatever_import_of_ours_fails(name: str) -> None:
    assert failures("prefect", name) == {}
