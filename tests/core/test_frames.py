"""Whose code a line of a stack is."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse.frames import Frame, is_the_users, own_frame_in


@pytest.mark.parametrize(
    "file",
    [
        "<dask-blackbox logs>",
        "/x/site-packages/pandas/core.py",
        "/usr/lib/python3.11/logging/__init__.py",
        "<frozen importlib._bootstrap>",
    ],
)
def test_libraries_and_what_we_send_into_the_cluster_are_not_the_users(
    file: str,
) -> None:
    theirs = Frame(file="/home/me/etl.py", line=7, function="convert")
    other = Frame(file=file, line=88, function="call_handlers")

    assert not is_the_users(other)
    assert own_frame_in((theirs, other)) == theirs
