"""What the shop knows of its orders: a module of the job's own."""

from __future__ import annotations

Row = dict[str, float]


def tidy(rows: list[Row]) -> list[Row]:
    """Return the rows that are worth a look."""
    from distutils.util import strtobool  # gone since Python 3.12

    return [row for row in rows if row["price"] >= 0 or strtobool("no")]


class Tax:
    """A tax of a country.

    Args:
        share: Of the price.
    """

    def __init__(self, share: float) -> None:
        self.share = share

    def added(self, rows: list[Row]) -> list[Row]:
        """Return rows with the tax on their price."""
        return [{**row, "price": row["price"] * (1 + self.share)} for row in rows]


def page(rows: list[Row]) -> str:
    """Return a page that nobody asks for in the night."""
    return "\n".join(str(row) for row in rows)
