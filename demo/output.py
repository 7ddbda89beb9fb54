"""What the demo says while it runs: progress, cards, and what lies in the bucket."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.status import Status
from rich.tree import Tree

__all__ = ["Output", "bucket_tree"]

_WIDEST = 110
_LONGEST_NAME = 200
_SELDOM = 15.0
"""Seconds between two lines about the same thing, where there is no spinner."""


class Output:
    """Prints what happens: a spinner on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        terminal = sys.stdout.isatty()
        width = None if terminal else _WIDEST
        self.console = Console(highlight=False, width=width, soft_wrap=True)
        self.columns = min(self.console.width, _WIDEST)
        self.colour = terminal
        self._began = time.monotonic()
        self._status: Status | None = None
        self._reported = ("", 0.0)
        if terminal:
            self._status = self.console.status("")
            self._status.start()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def doing(self, text: str) -> None:
        """Say what is being done, or waited for."""
        if self._status is not None:
            self._status.update(f"{escape(text)} …")
            return
        subject, now = text.partition(" (")[0], self.seconds
        if subject != self._reported[0] or now - self._reported[1] > _SELDOM:
            self._reported = (subject, now)
            self.console.print(f"{self.seconds:4.0f} s  {escape(text)} …")

    def done(self, text: str) -> None:
        """Say what is done."""
        self.console.print(f"{self.seconds:4.0f} s  [green]✔[/green] {escape(text)}")

    def wrong(self, text: str) -> None:
        """Say what went wrong."""
        self.console.print(f"{self.seconds:4.0f} s  [red]✖[/red] {escape(text)}")

    def title(self, text: str) -> None:
        """Begin a chapter."""
        self.console.print()
        self.console.rule(f"[bold]{escape(text)}[/bold]", align="left")

    def text(self, text: str) -> None:
        """Print as it is, which may be coloured already."""
        self.console.out(text, highlight=False)

    def tree(self, tree: Tree) -> None:
        """Print a tree; a narrow terminal breaks its lines, and nothing cuts them."""
        wide = Console(highlight=False, width=max(self.console.width, _LONGEST_NAME))
        wide.print(tree)

    def quiet(self) -> None:
        """Stop the spinner."""
        if self._status is not None:
            self._status.stop()


def bucket_tree(url: str, blobs: Iterable[tuple[str, int]]) -> Tree:
    """Return the contents of a store, with many of a kind as one line.

    Args:
        url: Of the store.
        blobs: Names and sizes in bytes.
    """
    tree = Tree(f"[bold]{escape(url)}[/bold]")
    folders: dict[str, list[tuple[str, int]]] = defaultdict(list)
    markers = 0
    for name, size in blobs:
        if name.startswith("index/"):
            markers += 1
            continue
        run, attempt, inside = name.partition("/attempt=")
        number, _, file = inside.partition("/")
        folders[f"{run}{attempt}{number}"].append((file, size))
    for folder, files in sorted(folders.items()):
        total = decimal(sum(size for _, size in files))
        branch = tree.add(f"{escape(folder)}/  [dim]{total}[/dim]")
        for line in _lines(files):
            branch.add(line)
    tree.add(f"index/  [dim]{markers} empty markers: the newest runs, cheaply[/dim]")
    return tree


def _lines(files: list[tuple[str, int]]) -> Iterable[str]:
    rooms: dict[str, list[int]] = defaultdict(list)
    for file, size in sorted(files):
        room, slash, _ = file.partition("/")
        rooms[f"{room}{slash}"].append(size)
    for room, sizes in rooms.items():
        many = f"{len(sizes)} files, " if room.endswith("/") else ""
        yield f"{escape(room)}  [dim]{many}{decimal(sum(sizes))}[/dim]"
