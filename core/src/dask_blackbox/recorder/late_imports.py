"""What a recorder loads after its start: the store is checked before that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dask_blackbox.recorder.pulling import Puller

__all__ = ["finaliser", "puller"]


def puller() -> type[Puller]:
    """Return what pulls; importing distributed takes a second."""
    from dask_blackbox.recorder.pulling import Puller

    return Puller


def finaliser() -> Callable[..., None]:
    """Return what finalises, with Bokeh and the templates loaded."""
    from dask_blackbox import report
    from dask_blackbox.recorder.finalise import finalise

    with contextlib.suppress(Exception):
        _ = report.html, report.performance_html
    return finalise
