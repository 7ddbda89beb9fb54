"""The border to the host: our failure becomes one log line and a fact, never its exception.

Everything of ours that runs in somebody else's process does so inside `guard`.
What was swallowed is kept (bounded) so that the recording can state it, and so that
our own tests can raise it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["guard", "kept"]

logger = logging.getLogger("dask_blackbox")

kept: deque[tuple[str, BaseException]] = deque(maxlen=100)
"""What the guard swallowed: (what we were doing, the exception), newest last."""


@contextmanager
def guard(
    doing: str, *, on_error: Callable[[str, Exception], None] | None = None
) -> Iterator[None]:
    """Run a piece of ours inside the host; note its failure and go on.

    Args:
        doing: What is being done, in the words of the log line
            ("dask-blackbox went on without <doing>: …").
        on_error: Takes the same and the failure, so that the recording can state it.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - this is the border
        kept.append((doing, error))
        logger.warning(
            "dask-blackbox continued without %s: %s: %s",
            doing,
            type(error).__name__,
            error,
        )
        if on_error is not None:
            on_error(doing, error)
