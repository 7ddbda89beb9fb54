"""Rich's tables and texts, printed into a string."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich.console import Console
from rich.table import Table
from rich.text import Text


class Paper(Console):
    """A console that writes what it prints into a string.

    Args:
        colour: With terminal colours.
    """

    def __init__(self, *, width: int = 100, colour: bool = False) -> None:
        self._written = StringIO()
        super().__init__(
            file=self._written,
            width=width,
            force_terminal=colour,
            color_system="standard" if colour else None,
            highlight=False,
            emoji=False,
            markup=False,
        )

    def text(self) -> str:
        """Return what was printed, without blanks at the ends of its lines."""
        lines = self._written.getvalue().splitlines()
        return "\n".join(line.rstrip() for line in lines)


def printed(
    parts: Iterable[Text | Table], *, width: int = 100, colour: bool = False
) -> str:
    """Return parts as lines of text, one below the other; see `Paper`."""
    paper = Paper(width=width, colour=colour)
    for part in parts:
        paper.print(part, overflow="fold")
    return paper.text()
