"""Servers of Prefect before 3.9 do not work with newer versions of FastAPI: that is named."""

from __future__ import annotations

import pytest
from prefect_dask_blackbox.fastapi_versions import server_problem


@pytest.mark.parametrize(
    ("prefect", "fastapi", "remedy"),
    [
        ("3.8.8", "0.165.0", "pip install 'fastapi<0.142'"),
        ("3.8.8", "0.142.0", "pip install 'fastapi<0.142'"),
        ("3.4.7", "0.141.1", "pip install 'fastapi<0.137'"),
        ("3.7.0", "0.137.0", "pip install 'fastapi<0.137'"),
    ],
)
def test_versions_that_do_not_go_together_are_named(
    prefect: str, fastapi: str, remedy: str
) -> None:
    said = server_problem(prefect, fastapi) or ""

    assert said.endswith(remedy)


@pytest.mark.parametrize(
    ("prefect", "fastapi"),
    [
        ("3.8.8", "0.141.3"),
        ("3.4.7", "0.115.0"),
        ("3.7.0", "0.136.0"),
        ("3.9.0", "0.165.0"),
    ],
)
def test_of_versions_that_go_together_nothing_is_said(
    prefect: str, fastapi: str
) -> None:
    assert server_problem(prefect, fastapi) is None
