"""One recording that cannot be read hides no other."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from dask_blackbox.errors import BlackboxError, MalformedRecordingError
from dask_blackbox.layout import RunAddress

logger = logging.getLogger("dask_blackbox")


@contextmanager
def reading(address: RunAddress) -> Iterator[None]:
    """Turn whatever the contents of a recording raise into an error about this recording.

    For commands and pages that read several: they report it and go on.

    Raises:
        MalformedRecordingError: for an exception that is not one of ours, and for a lack
            of memory.
    """
    try:
        yield
    except BlackboxError:
        raise
    except Exception as error:
        logger.info("%s cannot be read", address.name, exc_info=True)
        raise MalformedRecordingError(
            f"{address.name} cannot be read: {type(error).__name__}: {error}"
        ) from error
