"""The shapes of tokens that a secret scanner knows, as regular expressions.

`detect-secrets` is maintained by people who follow what vendors issue.  Its detectors hold
their rules as data; only those are read, none of its code looks at a text of ours.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache

from dask_blackbox.guard import guard

__all__ = ["scanner_shapes"]

# What these detect are no secrets (addresses), or is covered with fewer false positives
# by names (`password=…`) and by the user part of URLs.
_OTHERWISE = ("base", "basic_auth", "high_entropy_strings", "ip_public", "keyword")
_ASSIGNMENT = (
    "(?:=|:|:=|=>"  # part of the rules for what is assigned to a vendor's names
)


@cache
def scanner_shapes() -> tuple[str, ...]:
    """Return the rules of the installed scanner; none where it cannot be read."""
    found: list[str] = []
    with guard("the rules of the secret scanner"):
        found.extend(_rules())
    return tuple(dict.fromkeys(found))


def _rules() -> Iterator[str]:
    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    for module in pkgutil.iter_modules(plugins.__path__):
        if module.name in _OTHERWISE:
            continue
        found = importlib.import_module(f"{plugins.__name__}.{module.name}")
        for value in vars(found).values():
            is_detector = isinstance(value, type) and issubclass(
                value, RegexBasedDetector
            )
            if is_detector and value.__module__ == found.__name__:
                yield from _rules_of(value)


def _rules_of(detector: type) -> Iterator[str]:
    for rule in getattr(detector, "denylist", ()):
        if isinstance(rule, re.Pattern) and _ASSIGNMENT not in rule.pattern:
            flags = "i" if rule.flags & re.IGNORECASE else ""
            flags += "x" if rule.flags & re.VERBOSE else ""
            yield f"(?{flags}:{rule.pattern})" if flags else rule.pattern
