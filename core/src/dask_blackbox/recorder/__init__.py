"""Record: a process of its own that pulls events, spools them, uploads and finalises.

It does not share fate with what it records: not with the driver that starts it, nor with
the scheduler that it listens to, nor with the store that it writes to.
"""

from __future__ import annotations
