"""`BlackboxStore`: where recordings go and how to get there, as a block of Prefect's."""

from __future__ import annotations

from typing import Any, Optional

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.store import StoreChoice
from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from prefect_dask_blackbox.block_names import BLOCK, BUCKETS, check_block_name
from prefect_dask_blackbox.bucket_blocks import plain, store_of_bucket

__all__ = ["BlackboxStore", "store_of_block"]


class BlackboxStore(Block):
    """Where recordings of Dask runs go: a bucket or a folder, with its credentials.

    Attributes:
        url: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` or a folder.
        endpoint: URL of an S3-compatible server.
        region: Region of the bucket.
        profile: Of the AWS configuration.
        key: Access key id.
        secret: Secret access key.
        token: Session token of temporary credentials.
        credentials: For Google Cloud Storage, the JSON of a service account's key; for
            Azure, a connection string or the JSON of a service principal.
        bucket_block: A bucket's block to take bucket, folder and credentials from:
            `s3-bucket/NAME`, `gcs-bucket/NAME` or `azure-blob-storage-container/NAME`.

    Example:
        Flows are recorded to it by its name:
        ```python
        from prefect_dask_blackbox import BlackboxStore, observed_flow


        @observed_flow(store="block:BLOCK_NAME")
        def etl(): ...


        store = BlackboxStore.load("BLOCK_NAME")
        ```
    """

    _block_type_name = "Dask Blackbox Store"
    _block_type_slug = "dask-blackbox-store"
    _logo_url = "https://raw.githubusercontent.com/dask-blackbox/dask-blackbox/main/docs/images/logo.png"  # type: ignore[assignment]
    _documentation_url = "https://pypi.org/project/prefect-dask-blackbox/"  # type: ignore[assignment]
    _description = "Where recordings of Dask runs are stored, and the credentials."

    url: str | None = Field(
        default=None,
        description="s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or a "
        "folder.",
    )
    endpoint: str | None = Field(
        default=None, description="URL of an S3-compatible server."
    )
    region: str | None = Field(default=None, description="Region of the bucket.")
    profile: str | None = Field(
        default=None,
        description="Profile in the AWS configuration of the flow's machine.",
    )
    # Not `SecretStr | None`, which Prefect 3.4 takes for no secret and saves as asterisks.
    key: Optional[SecretStr] = Field(  # noqa: UP045 - see above
        default=None, description="Access key id."
    )
    secret: Optional[SecretStr] = Field(  # noqa: UP045 - see above
        default=None, description="Secret access key."
    )
    token: Optional[SecretStr] = Field(  # noqa: UP045 - see above
        default=None, description="Session token of temporary credentials."
    )
    credentials: Optional[SecretStr] = Field(  # noqa: UP045 - see above
        default=None,
        description="Google Cloud Storage: the JSON of a service account's key. Azure: a "
        "connection string, or the JSON of a service principal.",
    )
    bucket_block: str | None = Field(
        default=None,
        description="Block of a bucket that supplies the other values: s3-bucket/NAME, "
        "gcs-bucket/NAME or azure-blob-storage-container/NAME.",
    )

    def store(self) -> StoreChoice:
        """Return the store, credentials among its settings.

        Raises:
            ConfigurationError: if the block names no place.
        """
        bucket = StoreChoice()
        if self.bucket_block:
            bucket = store_of_bucket(self.bucket_block)
        own = {
            "endpoint": self.endpoint,
            "region": self.region,
            "profile": self.profile,
            "key": plain(self.key),
            "secret": plain(self.secret),
            "token": plain(self.token),
            "credentials": plain(self.credentials),
        }
        given = {name: value for name, value in own.items() if value}
        url = self.url or bucket.url
        if not url:
            raise ConfigurationError(
                "a BlackboxStore block needs a url or a bucket_block"
            )
        return StoreChoice(url, {**(bucket.settings or {}), **given})


def store_of_block(name: str) -> StoreChoice:
    """Return the store that a block names.

    Args:
        name: Of a `BlackboxStore`, or of a bucket's block with the slug of its type:
            `s3-bucket/prod`.

    Raises:
        ConfigurationError: if there is no such block, or it names no place.
    """
    check_block_name(name)
    if name.partition("/")[0] in BUCKETS:
        return store_of_bucket(name)
    try:
        block: Any = BlackboxStore.load(name.rpartition("/")[2], _sync=True)  # type: ignore[call-arg]
    except ValueError as error:
        raise ConfigurationError(f"store='{BLOCK}{name}': {error}") from error
    chosen: StoreChoice = block.store()
    return chosen
