"""Print a digest of the card of every recording that is kept.

    python tests/recordings/cards.py

Two processes with different hash seeds must print the same.
"""

from __future__ import annotations

import hashlib

from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from keeping import KEPT, kept


def main() -> None:
    """Print a line for each recording."""
    for archive in sorted(KEPT.glob("*.tar.xz")):
        for each in kept(archive):
            card = card_of(each.run, findings_in(each.run)).to_json()
            digest = hashlib.sha256(card).hexdigest()
            print(f"{archive.name} {each.name} {digest}")


if __name__ == "__main__":
    main()
