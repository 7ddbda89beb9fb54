"""Lines that Dask writes after something else has failed."""

from __future__ import annotations

NOISE = (
    "CommClosedError",
    "StreamClosedError",
    "Connection closed",
    "Failed to communicate with scheduler",
    "Compute Failed",
    "Worker stream died",
)
"""What such lines hold; what they say is a consequence, not a cause."""
