"""Functions that arrive by value name the file that defined them, with every cloudpickle."""

from __future__ import annotations

import traceback
import types
from collections.abc import Iterator
from typing import Any

import pytest
from cloudpickle import dumps, loads
from dask_blackbox.capture.source_files import (
    leave_source_files,
    name_source_file_of,
    name_source_files,
)

JOB = """
def outer(rows):
    return [inner(row) for row in rows]

def inner(row):
    return (lambda each: 1 / each)(row)
"""


_dumps: Any = dumps  # it has no types


@pytest.fixture
def job() -> types.ModuleType:
    """Return a module that nobody can import, as a DAG file or `__main__`."""
    module = types.ModuleType("of_nobody")
    module.__file__ = "/srv/jobs/nightly.py"
    exec(compile(JOB, module.__file__, "exec"), module.__dict__)
    return module


@pytest.fixture
def owner() -> Iterator[str]:
    name_source_files("a test")
    yield "a test"
    leave_source_files("a test")


def _files(function: Any) -> set[str]:
    """Return the files of what a failing call went through, but for this one."""
    with pytest.raises(ZeroDivisionError) as caught:
        function([0])
    frames = traceback.extract_tb(caught.value.__traceback__)
    return {each.filename for each in frames} - {__file__}


def _shipped(function: Any) -> Any:
    """Return a function as it arrives after two journeys: to the scheduler, to a worker."""
    once = loads(_dumps(function))
    return loads(_dumps(once))


@pytest.mark.usefixtures("owner")
def test_a_traceback_names_the_file_of_nested_functions_too(
    job: types.ModuleType,
) -> None:
    assert _files(_shipped(job.outer)) == {"/srv/jobs/nightly.py"}


def test_the_pickle_of_a_function_is_the_same(job: types.ModuleType) -> None:
    before = _dumps(job.outer)

    name_source_files("a test")
    during = _dumps(job.outer)
    leave_source_files("a test")

    assert during == before


@pytest.mark.usefixtures("owner")
def test_a_function_of_a_module_without_a_file_is_left_as_it_is(
    job: types.ModuleType,
) -> None:
    del job.__file__

    assert _files(_shipped(job.outer)) == {"<dynamic-code>"}


def test_what_was_loaded_before_is_given_its_file_too(job: types.ModuleType) -> None:
    # As a flow that its host's runner hands to a process of its own.
    shipped = _shipped(job.outer)

    name_source_file_of(shipped)

    assert _files(shipped) == {"/srv/jobs/nightly.py"}


def test_nothing_is_changed_when_everybody_has_left(job: types.ModuleType) -> None:
    for each in ("one", "other"):
        name_source_files(each)
    leave_source_files("one")
    between = _files(_shipped(job.outer))
    leave_source_files("other")

    assert between == {"/srv/jobs/nightly.py"}
    assert _files(_shipped(job.outer)) == {"<dynamic-code>"}
