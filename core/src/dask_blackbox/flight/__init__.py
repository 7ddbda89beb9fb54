"""The driver's side of a recording: start it, attach clients, finish it, hold the card."""

from __future__ import annotations

from dask_blackbox.flight.beginning import recording
from dask_blackbox.flight.session import Recording

__all__ = ["Recording", "recording"]
