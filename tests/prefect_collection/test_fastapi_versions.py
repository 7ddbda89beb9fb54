"""A server of Prefect 3.8 does not start with newer versions of FastAPI: that is named."""

from __future__ import annotations

import pytest
from prefect_dask_blackbox.fastapi_versions import server_problem


@pytest.mark.parametrize(
    ("prefect", "fastapi", "named"),
    [
        ("3.8.8", "0.165.0", True),
        ("3.8.8", "0.142.0", True),
        ("3.8.8", "0.141.3", False),
        ("3.4.7", "0.115.0", False),
        ("3.9.0", "0.165.0", False),
    ],
)
def test_versions_that_do_not_go_together_are_named(
    *, prefect: str, fastapi: str, named: bool
) -> None:
    said = server_problem(prefect, fastapi) or ""

    assert ("prefect-dask-blackbox[server]" in said) is named
