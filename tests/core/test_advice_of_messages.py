"""A message that says what to do instead has its own remedy: that sentence."""

import pytest
from dask_blackbox.analyse.explanations import advice_in
from dask_blackbox.manifest import DriverException
from dask_blackbox.testing import a_run, a_task_error, verdict_with


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            (
                "`get_dummies` with unknown categories is not supported. Please use "
                "`df.categorize()` beforehand to ensure known categories"
            ),
            "Please use `df.categorize()` beforehand to ensure known categories",
        ),
        (
            "Cannot do chunked reads on compressed files. To read, set blocksize=None",
            "To read, set blocksize=None",
        ),
        (
            (
                "Saving an array with unknown chunk sizes is not supported by Zarr.\n\n"
                "A possible solution: https://example.org\n"
                "Summary: to compute chunks sizes, use\n\n   x.compute_chunk_sizes()"
            ),
            "Summary: to compute chunks sizes, use x.compute_chunk_sizes()",
        ),
        (
            "The truth value of a Series is ambiguous. Use a.empty, a.any() or a.all().",
            "Use a.empty, a.any() or a.all()",
        ),
    ],
)
def test_the_sentence_that_says_what_to_do_is_the_advice(
    message: str, advice: str
) -> None:
    assert advice_in(message) == f'The message says what to do: "{advice}".'


@pytest.mark.parametrize(
    "message",
    [
        "division by zero",
        "add() takes 2 arguments",
        "Call to f(x) failed",
        "Run f(x)=3 failed",
        "Use of the file is denied",
        "set changed size during iteration",
        "Use `x`: " + 300 * "very ",
    ],
)
def test_a_message_that_only_reports_gives_no_advice(message: str) -> None:
    assert advice_in(message) is None


def test_the_advice_of_a_message_is_the_remedy_in_driver_and_task() -> None:
    message = "Keys are unsorted. Please use `df.set_index(…, sorted=True)` first."
    raised = DriverException(exception="builtins.ValueError", message=message)
    of_driver = verdict_with(a_run(state="failed", exception=raised))
    error = a_task_error("join-1", message=message)
    of_task = verdict_with(
        a_run(
            error,
            state="failed",
            exception=DriverException(
                exception="builtins.ValueError", message=message, key="join-1"
            ),
        )
    )

    for found, rule in ((of_driver, "driver-exception"), (of_task, "task-exception")):
        assert found is not None
        assert found.rule == rule
        assert "Please use `df.set_index(…, sorted=True)` first" in found.remedy


@pytest.mark.parametrize(
    ("function", "retry", "do"),
    [
        ("_ls_from_cache", "transient", "`fs.invalidate_cache()`"),
        ("_ls_real", "data", "fix the code"),
    ],
)
def test_a_file_that_a_kept_listing_lacks_may_have_come_later(
    function: str, retry: str, do: str
) -> None:
    message = "exports/2026-05-04/alta.csv"
    traceback = (
        'Traceback (most recent call last):\n  File "/jobs/nightly.py", line 9, in load\n'
        "    fs.open(path)\n"
        f'  File "/venv/site-packages/fsspec/spec.py", line 438, in {function}\n'
        f"    raise FileNotFoundError(path)\nFileNotFoundError: {message}\n"
    )
    kind = "builtins.FileNotFoundError"
    error = a_task_error("load-1", exception=kind, message=message, traceback=traceback)
    raised = DriverException(exception=kind, message=message, key="load-1")
    found = verdict_with(a_run(error, state="failed", exception=raised))

    assert found is not None
    assert (found.rule, found.retry_advice) == ("task-exception", retry)
    assert do in found.remedy
    assert ("is not in the listing" in found.cause) == (retry == "transient")


_REFUSED = (
    "None: Max retries exceeded with url: http://feeds.example/news (Caused by ProxyError("
    "'Unable to connect to proxy', NewConnectionError('Connection refused')))"
)
_UNTRUSTED = (
    "SSL validation failed for https://store.example:9000/photos [SSLCertVerificationError: "
    "(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {why} (_ssl.c:1006)')]"
)


@pytest.mark.parametrize(
    ("message", "headline", "do"),
    [
        (_REFUSED, "the proxy could not be reached", "`no_proxy`"),
        (
            'Failed to connect to proxy URL: "http://proxy.example:3128"',
            "the proxy could not be reached",
            "`no_proxy`",
        ),
        (
            "Tunnel connection failed: 403 Forbidden",
            "the proxy refused to connect",
            "`no_proxy`",
        ),
        (
            _UNTRUSTED.format(why="self-signed certificate"),
            "the certificate of https://store.example:9000 is not trusted",
            "`AWS_CA_BUNDLE`",
        ),
        (
            _UNTRUSTED.format(why="certificate has expired"),
            "the certificate of https://store.example:9000 is not trusted",
            "Renew the certificate",
        ),
        (
            _UNTRUSTED.format(
                why="IP address mismatch, certificate is not valid for 'a'"
            ),
            "the certificate of https://store.example:9000 is not trusted",
            "a name that its certificate has",
        ),
    ],
)
def test_what_stands_between_a_worker_and_a_service_is_the_environments(
    message: str, headline: str, do: str
) -> None:
    error = a_task_error("load-1", exception="builtins.OSError", message=message)
    raised = DriverException(
        exception="builtins.OSError", message=message, key="load-1"
    )
    found = verdict_with(a_run(error, state="failed", exception=raised))

    assert found is not None
    assert (found.rule, found.retry_advice) == ("task-exception", "environment")
    assert headline in found.cause
    assert do in found.remedy


@pytest.mark.parametrize("library", ["dask", "pandas"])
def test_a_column_that_a_dask_frame_lacks_may_be_in_later_files_only(
    library: str,
) -> None:
    frames = (
        '  File "/jobs/nightly.py", line 9, in total\n    usage.groupby("tariff")\n'
        f'  File "/venv/site-packages/{library}/dataframe/_groupby.py", line 4, in by\n'
        "    check(by)\n"
        '  File "/venv/site-packages/pandas/core/groupby/grouper.py", line 9, in get\n'
        "    raise KeyError(gpr)\n"
    )
    raised = DriverException(
        exception="builtins.KeyError",
        message="'tariff'",
        traceback=f"Traceback (most recent call last):\n{frames}KeyError: 'tariff'\n",
        file="/jobs/nightly.py",
        line=9,
    )
    found = verdict_with(a_run(state="failed", exception=raised))

    assert found is not None
    assert "no column 'tariff'" in found.cause
    later = "takes the columns of the first one" in found.remedy
    assert later == (library == "dask")


_IN_DASK = (
    'Traceback (most recent call last):\n  File "/jobs/nightly.py", line 9, in store\n'
    "    frame.to_parquet(path)\n"
    '  File "/venv/site-packages/{library}/dataframe/backends.py", line 4, in schema\n'
    "    pa.Schema.from_pandas(meta)\n"
)
_MADE_UP = (
    "Could not convert <object object at 0x7f94489acbb0> with type object: did not "
    "recognize Python value type when inferring an Arrow data type"
)


@pytest.mark.parametrize("library", ["dask", "pandas"])
def test_the_type_of_a_column_of_objects_is_named_for_parquet(library: str) -> None:
    raised = DriverException(
        exception="pyarrow.lib.ArrowInvalid",
        message=_MADE_UP,
        traceback=_IN_DASK.format(library=library) + f"ArrowInvalid: {_MADE_UP}\n",
        file="/jobs/nightly.py",
        line=9,
    )
    found = verdict_with(a_run(state="failed", exception=raised))

    assert found is not None
    assert ("`to_parquet(…, schema=" in found.remedy) == (library == "dask")


@pytest.mark.parametrize(
    ("message", "is_future"),
    [
        ("unsupported operand type(s) for +=: 'int' and 'Future'", True),
        ("'Future' object is not subscriptable", True),
        ("'<' not supported between instances of 'Future' and 'int'", True),
        ("unsupported operand type(s) for +: 'int' and 'str'", False),
        ("'FutureDate' object is not iterable", False),
    ],
)
def test_a_future_in_place_of_its_value_is_explained_in_tasks_and_for_actors(
    message: str, *, is_future: bool
) -> None:
    kind = "builtins.TypeError"
    error = a_task_error("add-1", exception=kind, message=message)
    of_task = verdict_with(
        a_run(
            error,
            state="failed",
            exception=DriverException(exception=kind, message=message, key="add-1"),
        )
    )
    traceback = (
        'Traceback (most recent call last):\n  File "/jobs/nightly.py", line 9, in main\n'
        "    print(total.result())\n"
        '  File "/venv/site-packages/distributed/client.py", line 4, in sync\n'
        "    raise error\n"
        '  File "/venv/site-packages/distributed/worker.py", line 4, in actor_execute\n'
        "    result = func(*args, **kwargs)\n"
        '  File "/jobs/nightly.py", line 5, in add\n    self.votes += votes\n'
        f"TypeError: {message}\n"
    )
    raised = DriverException(exception=kind, message=message, traceback=traceback)
    of_actor = verdict_with(a_run(state="failed", exception=raised))

    for found in (of_task, of_actor):
        assert found is not None
        assert found.rule == "task-exception"
        assert ("Pass `future.result()`" in found.remedy) == is_future
