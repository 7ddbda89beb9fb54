"""A long message without spaces (base64, JSON) is looked through in a moment."""

from __future__ import annotations

import time

import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.recorder.redact import Redactor
from runs_from_rows import a_run, a_worker, an_exception, failed_with

LONG = 20_000
MOST = 6.0  # CPU seconds on a busy machine; with patterns that begin anew at each character: 10


@pytest.mark.parametrize("piece", ["x", "x1.", "a/b", '"'])
def test_a_long_word_is_no_work_for_the_rules(piece: str) -> None:
    message = piece * (LONG // len(piece))
    error = an_exception("ValueError", message)
    run = a_run(a_worker(), failed_with(error, at=60))
    begun = time.process_time()

    assert findings_in(run)
    assert time.process_time() - begun < MOST


def test_a_long_word_is_no_work_for_the_search_for_secrets() -> None:
    error = an_exception("ValueError", "x" * LONG)
    redactor = Redactor()
    begun = time.process_time()

    assert redactor.exception(error) == error
    assert time.process_time() - begun < MOST / 2
