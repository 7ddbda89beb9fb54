"""What several test files of the core stand on: stores with recordings, homes, an S3 server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dask_blackbox.testing import EmbeddedS3, embedded_s3
from event_types import undeclared_in_folder
from scenario_runs import Home
from stored_runs import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Return an empty store in a folder."""
    return Shelf(tmp_path / "store")


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Home]]:
    """Return a maker of homes for scenarios; whoever still lives there is ended.

    What was recorded there must be what the types of events declare.
    """
    made: list[Home] = []
    tmp_path_factory.getbasetemp()  # several threads at once may not be the first

    def home() -> Home:
        # Short, because the paths of sockets are.
        made.append(Home(tmp_path_factory.mktemp("h")))
        return made[-1]

    yield home
    for each in made:
        each.clear()
    assert set().union(*(undeclared_in_folder(each.folder) for each in made)) == set()


@pytest.fixture(scope="session")
def s3() -> Iterator[EmbeddedS3]:
    """Return an S3 server with an empty bucket."""
    with embedded_s3() as server:
        yield server
