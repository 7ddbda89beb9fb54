"""The names of blocks that can be a store: `block:NAME`, with or without its type."""

from __future__ import annotations

from dask_blackbox.errors import ConfigurationError

BLOCK = "block:"
S3_BUCKET, OWN_SLUG = "s3-bucket", "dask-blackbox-store"
GCS_BUCKET, AZURE_CONTAINER = "gcs-bucket", "azure-blob-storage-container"
"""Slugs of the types of blocks that can name a store."""
BUCKETS = {
    S3_BUCKET: "an S3Bucket of prefect-aws",
    GCS_BUCKET: "a GcsBucket of prefect-gcp",
    AZURE_CONTAINER: "an AzureBlobStorageContainer of prefect-azure",
}
"""What each of those of other collections is, by its slug."""


def check_block_name(name: str) -> None:
    """Refuse a block of a type that names no store.

    Args:
        name: What follows `block:`.

    Raises:
        ConfigurationError: with the types that do.
    """
    slug, _, own = name.rpartition("/")
    if own and (not slug or slug == OWN_SLUG or slug in BUCKETS):
        return
    others = [f"'{BLOCK}{slug}/NAME' for {what}" for slug, what in BUCKETS.items()]
    raise ConfigurationError(
        f"store='{BLOCK}{name}': no such type of block can name a store; use "
        f"'{BLOCK}NAME' or '{BLOCK}{OWN_SLUG}/NAME' for a BlackboxStore, "
        f"{', '.join(others[:-1])}, or {others[-1]}"
    )
