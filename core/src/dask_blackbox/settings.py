"""Settings: what `dask.config` holds under `blackbox:`, with our defaults.

The defaults are in `blackbox.yaml` beside this module, with their meaning.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import dask.config
import yaml
from dask.utils import parse_bytes, parse_timedelta

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.patterns import is_exponential

logger = logging.getLogger("dask_blackbox")

_ENVIRONMENT = "DASK_BLACKBOX"
_CLOSE = 0.8
"""Likeness from which on a variable is taken for a misspelt one (`difflib`)."""
_OURS = frozenset(
    (
        "DASK_BLACKBOX_CONTROL",
        "DASK_BLACKBOX_PROCESSES",
        "DASK_BLACKBOX_RECORDING",
    )
)
"""How our own processes find each other: no settings."""

_FREE = frozenset(("blackbox.rules.thresholds",))
"""Settings whose value is a mapping of the user's own names."""


@cache
def _defaults() -> dict[str, object]:
    path = Path(__file__).with_name("blackbox.yaml")
    # The parser in C, where there is one, takes a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    defaults: dict[str, object] = yaml.load(path.read_text(), Loader=loader)  # noqa: S506
    dask.config.update_defaults(defaults)
    return defaults


def setting(name: str) -> Any:
    """Return the setting `blackbox.<name>`.

    Raises:
        KeyError: if there is no such setting (a mistake of ours, not the user's).
    """
    with suppress(KeyError):
        return dask.config.get(f"blackbox.{name}")
    # The end of a `with dask.config.set(…)` that began before our defaults were there
    # removes them, as far up as nothing else was set: all of them, or those of the store.
    dask.config.update(dask.config.config, _defaults(), priority="old")
    return dask.config.get(f"blackbox.{name}")


def setting_seconds(name: str) -> float:
    """Return a setting that is a duration, in seconds.

    Raises:
        ConfigurationError: if it is not a duration.
    """
    return _parsed(name, parse_timedelta, "duration like '10s' or '500ms'")


def setting_bytes(name: str) -> int:
    """Return a setting that is a size, in bytes.

    Raises:
        ConfigurationError: if it is not a size.
    """
    return int(_parsed(name, parse_bytes, "size like '1 MiB'"))


def _parsed(name: str, parse: Callable[[Any], float], expected: str) -> float:
    value = setting(name)
    try:
        return float(parse(value))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"blackbox.{name} is {value!r}; give a {expected}"
        ) from error


def setting_patterns(name: str) -> tuple[str, ...]:
    """Return a setting that is a list of regular expressions.

    Raises:
        ConfigurationError: if one of them is none, or takes exponential time.
    """
    patterns = tuple(setting(name))
    for each in patterns:
        try:
            if is_exponential(re.compile(each)):
                raise ConfigurationError(
                    f"blackbox.{name}: {each!r} takes time that doubles with each letter of a "
                    "text; write it without a repeat inside of a repeat"
                )
        except re.error as error:
            raise ConfigurationError(
                f"blackbox.{name}: {each!r} is not a regular expression: {error}"
            ) from error
    return patterns


def setting_classes(
    name: str, known: Sequence[str], noun: str = "class of data"
) -> tuple[str, ...]:
    """Return a setting that is a list of some of the words that are known.

    A text lists them separated by commas, as an environment variable does.

    Args:
        noun: What one of the words is, for the message.

    Raises:
        ConfigurationError: if it holds another one.
    """
    value = setting(name)
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        given = [value] if value else []
    words = [" ".join(re.split(r"[-_\s]+", str(each).strip())) for each in given]
    for word in filter(None, words):
        if word not in known:
            close = difflib.get_close_matches(word, known, n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else f"give {', '.join(known)}"
            )
            raise ConfigurationError(
                f"blackbox.{name}: there is no {noun} {word!r}; {hint}"
            )
    return tuple(each for each in known if each in words)


class Misspelt(NamedTuple):
    """A setting that is set but does not exist.

    Attributes:
        name: As it was set: a key, or an environment variable.
        do: What was probably meant.
    """

    name: str
    do: str


def misspelt_settings() -> list[Misspelt]:
    """Return what is set under `blackbox` or as `DASK_BLACKBOX…` and does not exist."""
    known = dict(_keys(_defaults()))
    variables = {_variable(name): name for name in known}
    found = []
    from_environment = set()
    for name in sorted(os.environ):
        if name.upper().startswith(_ENVIRONMENT):
            key = name[len("DASK_") :].lower().replace("__", ".").replace("_", "-")
            from_environment.add(key)
            if key not in known and name not in _OURS:
                close = _same_letters(name, variables) or difflib.get_close_matches(
                    name.upper(), variables, n=1, cutoff=_CLOSE
                )
                # Other names that only begin so may be a team's own.
                if close or name.upper().startswith(f"{_ENVIRONMENT}__"):
                    found.append(Misspelt(name, _did_you_mean(close)))
    configured = dask.config.config
    for key in (each for each in configured if str(each).startswith("blackbox")):
        for name, _ in _keys({str(key): configured[key]}):
            if name not in known and name not in from_environment:
                close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
                found.append(Misspelt(name, _did_you_mean(close)))
    return found


def name_misspelt_settings() -> None:
    """Log each misspelt setting, once in this process."""
    for each in misspelt_settings():
        if each not in _named:
            _named.add(each)
            logger.warning("there is no setting %s; %s", each.name, each.do)


_named: set[Misspelt] = set()


def _keys(tree: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield the settings of a tree, with hyphens as in the documentation."""
    for key, value in tree.items():
        name = f"{above}{str(key).replace('_', '-')}"
        if isinstance(value, Mapping) and value and name not in _FREE:
            yield from _keys(value, f"{name}.")
        else:
            yield name, value


def _variable(name: str) -> str:
    return f"DASK_{name.upper().replace('.', '__').replace('-', '_')}"


def _same_letters(name: str, variables: Mapping[str, str]) -> list[str]:
    """Return the variable that differs in its underscores only."""
    bare = name.upper().replace("_", "")
    return [each for each in variables if each.replace("_", "") == bare]


def _did_you_mean(close: list[str]) -> str:
    if close:
        return f"did you mean {close[0]}?"
    return "docs/configuration.md lists the settings"


_defaults()  # so that `dask.config` knows them, too
