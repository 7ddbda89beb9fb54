"""What the recorder left of a run, or the same made now where it could not."""

from __future__ import annotations

import msgspec

from dask_blackbox.attach import RunCard
from dask_blackbox.errors import BlobNotFoundError
from dask_blackbox.opened import Run
from dask_blackbox.opened.reading import GONE, WRONG, checksum_fits

__all__ = ["REPORTS", "card_of_run", "report_of_run"]

REPORTS = ("report.html", "performance_report.html")


def card_of_run(run: Run) -> RunCard:
    """Return the card that the host was shown, its links renewed.

    Of a run without an end, it is made from what was recorded.
    """
    if run.ending is not None:
        try:
            blob = run.store.get(f"{run.folder}card.json")
            if checksum_fits(blob, run.ending.blobs.get("card.json")):
                card = RunCard.from_json(blob)
                return msgspec.structs.replace(card, links=card.links | run.links())
            run.damaged["card.json"] = WRONG
        except BlobNotFoundError:
            run.damaged["card.json"] = GONE
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            run.damaged["card.json"] = str(error)
    return run.card()  # the recording says it all again


def report_of_run(run: Run, name: str) -> bytes:
    """Return one of the `REPORTS`.

    Before the end of a run, the page in the store only says that it goes on; of a lost
    run, nothing else will ever be there.
    """
    if run.ending is not None:
        try:
            return run.store.get(f"{run.folder}{name}")
        except BlobNotFoundError:
            pass  # the recording says it all again
    from dask_blackbox.report import html, performance_html

    render = html if name == "report.html" else performance_html
    return render(run, run.card()).encode("utf-8", "replace")
