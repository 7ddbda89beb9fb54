"""Exceptions of ours, pickled and read where their package is installed and where it is not."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from dask_blackbox import errors
from dask_blackbox.errors import BlackboxError, BlobNotFoundError, FutureFormatError

ALL = [
    kind
    for name in errors.__all__
    if isinstance(kind := getattr(errors, name), type)
    and issubclass(kind, BlackboxError)
]
OWN_ARGUMENTS: dict[type, BlackboxError] = {
    errors.AmbiguousRunError: errors.AmbiguousRunError("etl", ["etl/1", "etl/2"]),
    BlobNotFoundError: BlobNotFoundError("card.json", "/store"),
    FutureFormatError: FutureFormatError(found=9, known=1),
    errors.OverLimitError: errors.OverLimitError("card.json", "it is large"),
    errors.RunNotFoundError: errors.RunNotFoundError("etl", "/store"),
}


def made(kind: type[BlackboxError]) -> BlackboxError:
    return OWN_ARGUMENTS.get(kind) or kind("the bucket does not exist")


@pytest.mark.parametrize("kind", ALL, ids=[kind.__name__ for kind in ALL])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_an_exception_is_the_same_after_pickling(
    kind: type[BlackboxError], protocol: int
) -> None:
    error = made(kind)
    error.add_note("while reading a run")

    copy = pickle.loads(pickle.dumps(error, protocol))

    assert type(copy) is kind
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_an_exception_is_read_where_its_package_is_not_installed() -> None:
    script = """
import pickle, sys
sys.modules["dask_blackbox"] = None
for error in pickle.load(sys.stdin.buffer):
    print(type(error).__name__, error)
"""
    given = [made(kind) for kind in ALL]
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps(given),
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == "".join(f"RuntimeError {e}\n" for e in given)


def test_an_exception_with_what_cannot_be_pickled_keeps_its_text() -> None:
    error = BlackboxError("the store does not answer")
    vars(error)["generator"] = (each for each in "abc")

    copy = pickle.loads(pickle.dumps(error))

    assert (type(copy), str(copy)) == (RuntimeError, "the store does not answer")
