"""The driver's side of a recording: start it, attach clients, finish it, hold the card."""

from __future__ import annotations

from dask_blackbox.driver.recording_function import recording
from dask_blackbox.driver.session import Recording

__all__ = ["Recording", "recording"]
