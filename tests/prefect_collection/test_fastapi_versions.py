"""Servers of Prefect before 3.9 do not work with newer versions of FastAPI: that is named."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from prefect_dask_blackbox.fastapi_versions import server_problem

OLD, LATER, BOUNDED = ">=0.111.0,<1.0.0", ">=0.139.0,<1.0.0", ">=0.139.0,<0.151"


@pytest.mark.parametrize(
    ("prefect", "allowed", "fastapi", "remedy"),
    [
        ("3.8.8", LATER, "0.165.0", "pip install 'fastapi<0.151'"),
        ("3.7.8", LATER, "0.151.0", "pip install 'fastapi<0.151'"),
        ("3.4.7", OLD, "0.141.1", "pip install 'fastapi<0.137'"),
        ("3.7.7", OLD, "0.137.0", "pip install 'fastapi<0.137'"),
    ],
)
def test_versions_that_do_not_go_together_are_named(
    prefect: str, allowed: str, fastapi: str, remedy: str
) -> None:
    said = server_problem(prefect, SpecifierSet(allowed), fastapi) or ""

    assert said.endswith(remedy)


@pytest.mark.parametrize(
    ("prefect", "allowed", "fastapi"),
    [
        ("3.8.8", LATER, "0.150.0"),
        ("3.7.8", LATER, "0.139.0"),
        ("3.4.7", OLD, "0.115.0"),
        ("3.7.7", OLD, "0.136.3"),
        ("3.9.0", BOUNDED, "0.150.0"),
    ],
)
def test_compatible_versions_give_no_warning(
    prefect: str, allowed: str, fastapi: str
) -> None:
    assert server_problem(prefect, SpecifierSet(allowed), fastapi) is None
