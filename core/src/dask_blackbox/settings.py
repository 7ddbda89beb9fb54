"""Settings: what `dask.config` holds under `blackbox:`, with our defaults.

The defaults stand in `blackbox.yaml` beside this module, with what each means.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import dask.config
import yaml
from dask.utils import parse_bytes, parse_timedelta

from dask_blackbox.errors import ConfigurationError

__all__ = ["setting", "setting_bytes", "setting_patterns", "setting_seconds"]


@cache
def _defaults() -> dict[str, Any]:
    path = Path(__file__).with_name("blackbox.yaml")
    defaults: dict[str, Any] = yaml.safe_load(path.read_text())
    dask.config.update_defaults(defaults)
    return defaults


def setting(name: str) -> Any:
    """Return the setting `blackbox.<name>`.

    Raises:
        KeyError: if there is no such setting (a mistake of ours, not the user's).
    """
    defaults = _defaults()
    if "job" not in dask.config.get("blackbox", {}):
        # The end of a `with dask.config.set(…)` that was there before our defaults takes
        # them away with what it had set.
        dask.config.update(dask.config.config, defaults, priority="old")
    return dask.config.get(f"blackbox.{name}")


def setting_seconds(name: str) -> float:
    """Return a setting that is a duration, in seconds.

    Raises:
        ConfigurationError: if it is not a duration.
    """
    value = setting(name)
    try:
        return float(parse_timedelta(value))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"blackbox.{name} is {value!r}; give a duration like '10s' or '500ms'"
        ) from error


def setting_bytes(name: str) -> int:
    """Return a setting that is a size, in bytes.

    Raises:
        ConfigurationError: if it is not a size.
    """
    value = setting(name)
    try:
        return int(parse_bytes(value))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"blackbox.{name} is {value!r}; give a size like '1 MiB'"
        ) from error


def setting_patterns(name: str) -> tuple[str, ...]:
    """Return a setting that is a list of regular expressions.

    Raises:
        ConfigurationError: if one of them is none.
    """
    patterns = tuple(setting(name))
    for each in patterns:
        try:
            re.compile(each)
        except re.error as error:
            raise ConfigurationError(
                f"blackbox.{name}: {each!r} is not a regular expression: {error}"
            ) from error
    return patterns
