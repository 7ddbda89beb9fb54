"""Messages of libraries, explained: the thing that they are about, and the fix as code."""

from __future__ import annotations

from dask_blackbox.analyse.explanations.explained import Context, Explained, in_one_line
from dask_blackbox.analyse.explanations.failures import (
    called,
    explained,
    explained_exception,
    explained_failure,
    words_of_exception,
    words_of_failure,
)

__all__ = [
    "Context",
    "Explained",
    "called",
    "explained",
    "explained_exception",
    "explained_failure",
    "in_one_line",
    "words_of_exception",
    "words_of_failure",
]
