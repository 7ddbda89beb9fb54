"""Report the user's own code to the recorder, beside the run: it waits for nothing here.

Modules are hashed when the recording begins and, those that were loaded since, when it
ends; their text stays where it is, unless `blackbox.capture.source` asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from dask_blackbox.guard import guard
from dask_blackbox.settings import setting

_TIMEOUT = 1.0


class DriverCodeReporter:
    """What the driver's own code is, reported once at the beginning and once at the end.

    Args:
        report: Takes the particulars of a `driver-code` event; never blocks.
        function: Whose code the run is, where it is known.
    """

    def __init__(
        self,
        report: Callable[[dict[str, object]], None],
        function: Callable[..., object] | None = None,
    ) -> None:
        self._report, self._function = report, function
        self._known: set[str] = set()
        self._source = bool(setting("capture.source"))
        self._thread = threading.Thread(
            target=self.check, name="dask-blackbox-code", daemon=True
        )

    def start(self) -> None:
        """Begin to look, in a thread."""
        self._thread.start()

    def check(self) -> None:
        """Look now, in whatever thread this is."""
        from dask_blackbox.capture.driver.driver_environment import (
            code_facts,
            machine_facts,
        )

        with guard("the driver's own code"):
            facts = code_facts(self._known, source=self._source)
            self._report({**facts, "machine": machine_facts()})

    def finish(self) -> None:
        """Report what was loaded since; takes a second at most."""
        from dask_blackbox.capture.driver.driver_environment import code_facts

        self._thread.join(_TIMEOUT)
        if self._thread.is_alive():
            return
        with guard("the driver's own code"):
            facts = code_facts(self._known, source=self._source)
            if facts["modules"]:
                self._report(dict(facts))
