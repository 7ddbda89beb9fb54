"""What cannot be pickled, and who refused it."""

from __future__ import annotations

import pytest
from runs_from_rows import (
    a_graph,
    a_run,
    a_worker,
    an_exception,
    failed_with,
    the_verdict,
)

PICKLING = (
    "Traceback (most recent call last):\n"
    '  File "/v/distributed/protocol/pickle.py", line 63, in dumps\n'
    "AttributeError: Can't pickle local object 'main.<locals>.<lambda>'\n\n"
    "During handling of the above exception, another exception occurred:\n\n"
    "Traceback (most recent call last):\n"
    '  File "/v/cloudpickle/cloudpickle.py", line 1313, in dump\n'
    "{why}\n\n"
    "The above exception was the direct cause of the following exception:\n\n"
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 9, in main\n    client.compute(blocks)\n'
    '  File "/v/distributed/client.py", line 3000, in _graph_to_futures\n'
    "TypeError: Could not serialize object of type _HLGExprSequence\n"
)


@pytest.mark.parametrize(
    ("why", "reported", "remedy"),
    [
        ("TypeError: h5py objects can't be pickled", "h5py objects", "inside the task"),
        ("TypeError: cannot pickle 'SSLContext' object", "an SSLContext", "SSLContext"),
        (
            "PicklingError: Could not pickle object as excessively deep recursion",
            "excessively deep recursion",
            "a flat form",
        ),
    ],
)
def test_what_the_last_pickle_refused_is_the_reason(
    why: str, reported: str, remedy: str
) -> None:
    run = a_run(
        a_worker(),
        failed_with(
            an_exception(
                "TypeError",
                "Could not serialize object of type _HLGExprSequence",
                traceback=PICKLING.format(why=why),
            )
        ),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("graph-not-serializable", "high")
    assert reported in found.title
    assert "lambda" not in found.title + found.cause
    assert remedy in found.remedy


def test_what_cannot_be_hashed_is_called_by_its_name() -> None:
    message = "Object <function main.<locals>.enrich at 0x7fd9> cannot be deterministically hashed. This"
    run = a_run(
        a_worker(),
        failed_with(an_exception("dask.tokenize.TokenizationError", message)),
    )

    assert the_verdict(run).title == (
        "Dask could not name a task by its inputs: the function 'enrich' cannot be hashed"
    )


def test_what_the_job_pickles_by_itself_is_no_graph() -> None:
    why = "cannot pickle '_thread.lock' object"
    text = (
        'Traceback (most recent call last):\n  File "/jobs/a.py", line 9, in map_models\n'
        f"    pickle.dump(model, file)\nTypeError: {why}\n"
    )
    error = an_exception("TypeError", why, traceback=text)

    assert the_verdict(a_run(a_worker(), a_graph(), failed_with(error))).rule == (
        "driver-exception"
    )
