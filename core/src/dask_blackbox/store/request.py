"""What a store in a bucket was asked, for the texts of its errors."""

from __future__ import annotations

from dataclasses import dataclass

from dask_blackbox.store.options import StoreOptions
from dask_blackbox.store.url import Bucket

_NAMES = {"s3": "AWS", "gs": "Google Cloud Storage", "az": "Azure Blob Storage"}


@dataclass(frozen=True)
class Request:
    """What was asked of which bucket.

    Attributes:
        doing: `reach`, `write`, `read`, `list`, `delete` or `link`.
        name: Of the blob, if it is about one.
    """

    doing: str
    name: str
    place: Bucket
    options: StoreOptions

    @property
    def server(self) -> str:
        """Who was asked, for people."""
        return self.options.endpoint or _NAMES[self.place.scheme]

    @property
    def could_not(self) -> str:
        """What failed, to begin the text of an error with."""
        what = f"{self.name!r} in " if self.name else ""
        return f"cannot {self.doing} {what}{self.place.url} at {self.server}"
