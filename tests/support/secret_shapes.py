"""The shapes in which secrets are printed, for the tests and for docs/privacy.md."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["ASSIGNED", "TOKENS"]

_SHAPES: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)

ASSIGNED = _SHAPES["assigned"]
"""Templates of texts in which any value at all is a secret, by what they are."""

TOKENS = _SHAPES["tokens"]
"""Tokens that are known by their shape, wherever they stand."""
