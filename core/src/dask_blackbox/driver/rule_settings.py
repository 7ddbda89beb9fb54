"""What the driver's settings say of the rules: checked before the run, used after it.

The recorder has a configuration of its own, and `dask.config.set` in the driver must count.
"""

from __future__ import annotations

import logging
from typing import Any

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.settings import setting

__all__ = ["rules_asked"]

logger = logging.getLogger("dask_blackbox")


def rules_asked(*, required: bool) -> dict[str, Any]:
    """Return the fields of the recorder's configuration that are about rules.

    A mistake in them is reported at once, in the driver's log and on the card; the run is
    recorded all the same, with the rules as they are.

    Args:
        required: A mistake is an error.

    Raises:
        ConfigurationError: if there is a mistake and the recording is required.
    """
    if not setting("rules.mute") and not setting("rules.thresholds"):
        return {}  # the rules are heavy to import: only for who has something to say
    from dask_blackbox.analyse.rule_settings import asking

    try:
        asked = asking()
    except ConfigurationError as error:
        if required:
            raise
        logger.error("the settings of the rules are ignored: %s", error)  # noqa: TRY400
        return {"rules_problem": str(error)}
    return {"muted": asked.muted, "thresholds": dict(asked.thresholds)}
