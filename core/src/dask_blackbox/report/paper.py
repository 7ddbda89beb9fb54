"""Rich's tables and texts, printed into a string."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["printed"]


def printed(
    parts: Iterable[Text | Table], *, width: int = 100, colour: bool = False
) -> str:
    """Return parts as lines of text, without blanks at their ends.

    Args:
        parts: What to print, one below the other.
        width: Columns.
        colour: With terminal colours.
    """
    paper = StringIO()
    console = Console(
        file=paper,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    for part in parts:
        console.print(part, overflow="fold")
    return "\n".join(line.rstrip() for line in paper.getvalue().splitlines())
