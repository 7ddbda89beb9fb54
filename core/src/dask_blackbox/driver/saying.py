"""What a recording says on the driver's own log: where it is, how it ended, what is odd."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dask_blackbox.attach import RunCard
from dask_blackbox.commandline import command
from dask_blackbox.guard import guard
from dask_blackbox.settings import name_misspelt_settings
from dask_blackbox.store.place import Bucket, forgotten_with_the_container, place_of

__all__ = ["say_how_it_ended", "warn_of"]

logger = logging.getLogger("dask_blackbox")


def say_how_it_ended(card: RunCard) -> None:
    """Log one line: the run, its headline, and how to see more.

    Where a program has set up no logging, the line goes to standard error; a level above
    INFO on the logger `dask_blackbox` switches it off in any case.
    """
    with guard("the line at the end"):
        name = f"{card.job}/{card.run_id}/{card.attempt}"
        line = f"dask-blackbox: {name} {card.state}: {card.headline}"
        url = card.links.get("recording")
        if url and card.completeness.get("recorded"):
            line += f"  [{command('why', url)}]"
        if logger.hasHandlers():
            logger.info("%s", line)
        elif logger.level <= logging.INFO and sys.stderr is not None:
            print(line, file=sys.stderr, flush=True)  # noqa: T201


def warn_of(store: Mapping[str, Any]) -> None:
    """Log what of the settings will be regretted: misspelt ones, a store that goes away.

    Args:
        store: What `store_settings` returned.
    """
    with guard("a look at the settings"):
        name_misspelt_settings()
        place = place_of(store["url"])
        if not isinstance(place, Bucket) and forgotten_with_the_container(Path(place)):
            logger.warning(
                "recordings go to %s, which is inside this container and is lost with "
                "it; mount"
                " a volume there, or set blackbox.store.url",
                place,
            )
