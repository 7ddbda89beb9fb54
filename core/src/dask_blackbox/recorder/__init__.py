"""The recorder: a separate process that pulls events, spools them, uploads and finalises.

It survives the failure of the driver that starts it, of the scheduler that it listens to,
and of the store that it writes to.
"""

from __future__ import annotations
