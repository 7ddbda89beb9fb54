"""What is known of whoever reads our output: columns and colours."""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console

__all__ = ["Screen", "screen"]


class Screen(NamedTuple):
    """How to print.

    Attributes:
        width: Columns of the terminal; None where the output goes elsewhere.
        colour: Whether colours are wanted: not on a dumb terminal, nor with NO_COLOR.
    """

    width: int | None
    colour: bool


def screen() -> Screen:
    """Return how to print on standard output."""
    console = Console()
    if not console.is_terminal:
        return Screen(None, colour=False)
    plain = console.no_color or console.is_dumb_terminal
    return Screen(console.width, colour=not plain)
