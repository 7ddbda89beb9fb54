"""Telling the recorder of the user's own code, beside the run: it waits for nothing here.

Modules are hashed when the recording begins and, those that were loaded since, when it
ends; their text stays where it is, unless `blackbox.capture.source` asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from dask_blackbox.guard import guard
from dask_blackbox.settings import setting

__all__ = ["OwnCode"]

_PATIENCE = 1.0


class OwnCode:
    """What the driver's own code is, reported once at the beginning and once at the end.

    Args:
        tell: Takes the particulars of a `driver-code` event; never blocks.
        function: Whose code the run is, where it is known.
    """

    def __init__(
        self,
        tell: Callable[[dict[str, Any]], None],
        function: Callable[..., Any] | None = None,
    ) -> None:
        self._tell, self._function = tell, function
        self._known: set[str] = set()
        self._source = bool(setting("capture.source"))
        self._thread = threading.Thread(
            target=self.look, name="dask-blackbox-code", daemon=True
        )

    def start(self) -> None:
        """Begin to look, in a thread."""
        self._thread.start()

    def look(self) -> None:
        """Look now, in whatever thread this is."""
        from dask_blackbox.capture.driver.surroundings import (
            code_facts,
            folder_of_code,
            machine_facts,
            uncommitted,
        )

        with guard("the driver's own code"):
            facts = code_facts(self._known, source=self._source)
            self._tell({**facts, "machine": machine_facts()})
            self._tell({"dirty": uncommitted(folder_of_code(self._function))})

    def finish(self) -> None:
        """Tell what was loaded since; takes a second at most."""
        from dask_blackbox.capture.driver.surroundings import code_facts

        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            return
        with guard("the driver's own code"):
            facts = code_facts(self._known, source=self._source)
            if facts["modules"]:
                self._tell(dict(facts))
