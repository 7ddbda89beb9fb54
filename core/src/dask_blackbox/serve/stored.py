"""What the recorder left of a run, or the same made now where it could not."""

from __future__ import annotations

import msgspec

from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlobNotFoundError
from dask_blackbox.reader import Run
from dask_blackbox.reader.documents import GONE, WRONG
from dask_blackbox.reader.evidence import read_card
from dask_blackbox.reader.reading import checksum_fits

REPORTS = ("report.html", "performance_report.html")


def card_of_run(run: Run) -> RunCard:
    """Return the card that the host was shown, its links renewed.

    Of a run without an end, it is made from what was recorded.
    """
    # Without a whole `complete.json` nobody knows whether a card is the one of this end.
    if run.ending is not None and "complete.json" not in run.damaged:
        noted = run.ending.blobs.get("card.json")
        card = read_card(run.store, run.folder, run.damaged, noted)
        if card is not None:
            return msgspec.structs.replace(card, links=card.links | run.links())
    return run.card()  # the recording says it all again


def report_of_run(run: Run, name: str) -> bytes:
    """Return one of the `REPORTS`.

    Before the end of a run, the page in the store only says that it goes on; of a lost
    run, nothing else will ever be there.
    """
    from dask_blackbox.report import is_on_demand

    if run.ending is not None and "complete.json" not in run.damaged:
        try:
            page = run.store.get(f"{run.folder}{name}")
        except BlobNotFoundError:
            run.damaged[name] = GONE  # the recording says it all again
        else:
            if not checksum_fits(page, run.ending.blobs.get(name)):
                run.damaged[name] = WRONG
            elif not is_on_demand(page):
                return page
    from dask_blackbox.report import html, performance_html

    render = html if name == "report.html" else performance_html
    return render(run, run.card()).encode("utf-8", "replace")
