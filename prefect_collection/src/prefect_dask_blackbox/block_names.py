"""The names of blocks that can be a store: `block:NAME`, with or without its type."""

from __future__ import annotations

from dask_blackbox.errors import ConfigurationError

BLOCK = "block:"
S3_BUCKET, OWN_SLUG = "s3-bucket", "dask-blackbox-store"
"""Slugs of the types of blocks that can name a store."""


def check_block_name(name: str) -> None:
    """Refuse a block of a type that names no store.

    Args:
        name: What follows `block:`.

    Raises:
        ConfigurationError: with the types that do.
    """
    slug, _, own = name.rpartition("/")
    if not own or slug not in {"", S3_BUCKET, OWN_SLUG}:
        raise ConfigurationError(
            f"store='{BLOCK}{name}': no such type of block can name a store; use "
            f"'{BLOCK}NAME' or '{BLOCK}{OWN_SLUG}/NAME' for a BlackboxStore, or "
            f"'{BLOCK}{S3_BUCKET}/NAME' for an S3Bucket of prefect-aws"
        )
