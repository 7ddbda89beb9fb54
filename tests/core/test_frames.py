"""Whose code a line of a stack is."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse.frames import (
    Frame,
    came_from_the_start_of_a_worker,
    failed_while_handling,
    is_the_users,
    own_frame_in,
    root_of_chain,
    without_traceback,
)


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


@pytest.mark.parametrize(
    ("file", "function", "code", "generated"),
    [
        ("/env/bin/airflow", "<module>", "sys.exit(main())", True),
        ("/env/bin/prefect", "<module>", "sys.exit(app())", True),
        ("/env/bin/airflow", "main", "sys.exit(main())", False),
        ("/home/me/bin/nightly", "<module>", "total = sums(orders)", False),
        ("/home/me/nightly.py", "<module>", "sys.exit(main())", False),
    ],
)
def test_the_script_that_an_installer_generates_for_a_command_is_not_the_users(
    file: str, function: str, code: str, *, generated: bool
) -> None:
    frame = Frame(file=file, line=10, function=function, code=code)

    assert is_the_users(frame) is not generated


_CLUSTER = """Traceback (most recent call last):
  File "/home/me/etl.py", line 7, in main
    {call}
  File "/x/site-packages/distributed/deploy/spec.py", line 454, in {function}
    await self._correct_state()
  File "/x/site-packages/distributed/deploy/spec.py", line 359, in _correct_state_internal
    {inner}
OSError: no
"""


@pytest.mark.parametrize(
    ("call", "function", "inner", "starts"),
    [
        ("SpecCluster(workers)", "_start", "await w  # for tornado gen", True),
        (
            "cluster.close()",
            "_close",
            "await self.scheduler_comm.retire_workers()",
            False,
        ),
    ],
)
def test_retiring_workers_is_not_starting_them(
    call: str, function: str, inner: str, *, starts: bool
) -> None:
    text = _CLUSTER.format(call=call, function=function, inner=inner)

    assert came_from_the_start_of_a_worker(text) is starts


def test_a_librarys_failed_lookup_is_not_the_root_of_what_it_raised_instead() -> None:
    traceback = (
        "Traceback (most recent call last):\n"
        '  File "/env/lib/python3.11/site-packages/dask/utils.py", line 1735, in parse_bytes\n'
        "    multiplier = byte_sizes[suffix.lower()]\n"
        "KeyError: 'gigs'\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/jobs/tickets.py", line 29, in main\n'
        "    cluster = LocalCluster(memory_limit='1.5 gigs')\n"
        '  File "/env/lib/python3.11/site-packages/dask/utils.py", line 1737, in parse_bytes\n'
        "    raise ValueError(f\"Could not interpret '{suffix}' as a byte unit\") from e\n"
        "ValueError: Could not interpret 'gigs' as a byte unit\n"
    )

    assert root_of_chain(traceback) == (
        "ValueError",
        "Could not interpret 'gigs' as a byte unit",
    )
    own = traceback.replace("/env/lib/python3.11/site-packages/dask/", "/jobs/")
    assert root_of_chain(own) == ("KeyError", "'gigs'")


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/ada/dask_blackbox/recorder/recorder.py", False),
        ("/repo/prefect_collection/src/prefect_dask_blackbox/futures.py", False),
        ("<dask-blackbox worker.worker>", False),
        ("/home/ada/try_dask_blackbox/etl.py", True),
        ("/home/ada/dask-blackbox/etl.py", True),
    ],
)
def test_a_folder_whose_name_resembles_ours_is_the_users(
    file: str, *, own: bool
) -> None:
    assert is_the_users(Frame(file=file, line=3, function="load")) is own


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            (
                "Nanny plugin token failed to setup\nTraceback (most recent call last):\n"
                '  File "/jobs/token.py", line 3, in setup\n    os.environ["TOKEN"]\n'
                "KeyError: 'TOKEN'\n"
            ),
            "Nanny plugin token failed to setup: KeyError: 'TOKEN'",
        ),
        (
            "Traceback (most recent call last):\nZeroDivisionError: division by zero",
            "ZeroDivisionError: division by zero",
        ),
        ("Traceback (most recent call last):\n  File", None),
        ("Worker is at 81% memory usage.\nPausing worker.", None),
    ],
)
def test_a_logged_traceback_is_shown_by_its_exception(
    message: str, shown: str | None
) -> None:
    assert without_traceback(message) == (message if shown is None else shown)


_META = """Traceback (most recent call last):
  File "/x/site-packages/dask/dataframe/utils.py", line 149, in raise_on_meta_error
    yield
  File "/home/me/etl.py", line 12, in best
    return part.iloc[0]
  File "/x/site-packages/pandas/core/indexing.py", line 2365, in _validate_integer
    raise IndexError("out-of-bounds")
IndexError: out-of-bounds

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/me/etl.py", line 36, in main
    frame.map_partitions(best)
  File "/x/site-packages/dask/dataframe/utils.py", line 164, in raise_on_meta_error
    raise ValueError(msg) from e
ValueError: Metadata inference failed in `best`.

Original error is below:
IndexError('out-of-bounds')

Traceback:
---------
  File "/home/me/etl.py", line 12, in best
    return part.iloc[0]
  File "/x/site-packages/pandas/core/indexing.py", line 2365, in _validate_integer
    raise IndexError("out-of-bounds")
"""


def test_a_traceback_in_a_message_is_not_the_exceptions_own() -> None:
    assert root_of_chain(_META) == ("IndexError", "out-of-bounds")
    last = _META.rpartition("exception:")[2]
    assert root_of_chain(f"{_META}\n{_HANDLING}\n{last}") == (
        "IndexError",
        "out-of-bounds",
    )


_HANDLING = "During handling of the above exception, another exception occurred:"
_TWICE = """Traceback (most recent call last):
  File "/home/me/etl.py", line 20, in unpack
    archive = tarfile.open(path)
  File "/x/lib/python3.11/tarfile.py", line 1630, in open
    raise ReadError("not a gzip file")
tarfile.ReadError: not a gzip file

{link}

Traceback (most recent call last):
  File "/home/me/etl.py", line 26, in {function}
    {code}
{error}
"""
_UNBOUND = "UnboundLocalError: cannot access local variable 'archive'"


@pytest.mark.parametrize(
    ("function", "code", "link", "found"),
    [
        ("unpack", "archive.close()", _HANDLING, True),
        ("unpack", 'raise JobError("no archive")', _HANDLING, False),
        ("fall_back", "archive.close()", _HANDLING, False),
        (
            "unpack",
            "archive.close()",
            "The above exception was the direct cause of the following exception:",
            False,
        ),
    ],
)
def test_a_function_that_fails_as_it_handles_an_exception(
    function: str, code: str, link: str, *, found: bool
) -> None:
    trace = _TWICE.format(function=function, code=code, link=link, error=_UNBOUND)

    wanted = ("tarfile.ReadError", "not a gzip file") if found else None
    assert failed_while_handling(trace) == wanted
