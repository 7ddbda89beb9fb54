"""`BlackboxStore`: where recordings go and how to get there, as a block of Prefect's."""

from __future__ import annotations

from typing import Any, Optional

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.store import StoreChoice
from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from prefect_dask_blackbox.block_names import BLOCK, S3_BUCKET, check_block_name

__all__ = ["BlackboxStore", "store_of_block"]


class BlackboxStore(Block):
    """Where recordings of Dask runs go: a bucket or a folder, with its credentials.

    Attributes:
        url: `s3://bucket/prefix` or a folder.
        endpoint: URL of an S3-compatible server.
        region: Region of the bucket.
        profile: Of the AWS configuration.
        key: Access key id.
        secret: Secret access key.
        token: Session token of temporary credentials.
        s3_bucket_block: An `S3Bucket` block of prefect-aws to take bucket, folder and
            credentials from, as `s3-bucket/NAME`.

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

    url: str | None = Field(default=None, description="s3://bucket/prefix or a folder.")
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
    s3_bucket_block: str | None = Field(
        default=None,
        description="S3Bucket block that supplies the other values: s3-bucket/NAME.",
    )

    def store(self) -> StoreChoice:
        """Return the store, credentials among its settings.

        Raises:
            ConfigurationError: if the block names no place.
        """
        found = _s3_bucket_options(self.s3_bucket_block) if self.s3_bucket_block else {}
        own = {
            "endpoint": self.endpoint,
            "region": self.region,
            "profile": self.profile,
            "key": _plain(self.key),
            "secret": _plain(self.secret),
            "token": _plain(self.token),
        }
        found |= {name: value for name, value in own.items() if value}
        url = self.url or found.pop("url", None)
        found.pop("url", None)
        if not url:
            raise ConfigurationError(
                "a BlackboxStore block needs a url or an s3_bucket_block"
            )
        return StoreChoice(url, found)


def store_of_block(name: str) -> StoreChoice:
    """Return the store that a block names.

    Args:
        name: Of a `BlackboxStore`, or with the slug of its type: `s3-bucket/prod`.

    Raises:
        ConfigurationError: if there is no such block, or it names no place.
    """
    check_block_name(name)
    if name.startswith(f"{S3_BUCKET}/"):
        found = _s3_bucket_options(name)
        return StoreChoice(found.pop("url"), found)
    try:
        block: Any = BlackboxStore.load(name.rpartition("/")[2], _sync=True)  # type: ignore[call-arg]
    except ValueError as error:
        raise ConfigurationError(f"store='{BLOCK}{name}': {error}") from error
    chosen: StoreChoice = block.store()
    return chosen


def _s3_bucket_options(name: str) -> dict[str, Any]:
    try:
        block: Any = Block.load(name, _sync=True)  # type: ignore[call-arg]
    except (ValueError, RuntimeError) as error:
        raise ConfigurationError(f"store='{BLOCK}{name}': {error}") from error
    credentials = getattr(block, "credentials", None)
    folder = str(getattr(block, "bucket_folder", "") or "").strip("/")
    client = getattr(credentials, "aws_client_parameters", None)
    found = {
        "url": f"s3://{block.bucket_name}/{folder}".rstrip("/"),
        "key": _plain(_first(credentials, "aws_access_key_id", "minio_root_user")),
        "secret": _plain(
            _first(credentials, "aws_secret_access_key", "minio_root_password")
        ),
        "token": _plain(getattr(credentials, "aws_session_token", None)),
        "region": getattr(credentials, "region_name", None),
        "profile": getattr(credentials, "profile_name", None),
        "endpoint": getattr(client, "endpoint_url", None),
    }
    if getattr(credentials, "assume_role_arn", None):
        found |= _of_role(credentials, name)
    return {key: value for key, value in found.items() if value}


def _of_role(credentials: Any, name: str) -> dict[str, Any]:
    """Return the temporary credentials of the role that a block assumes.

    They end with the role's session, as those that prefect-aws itself uses.

    Raises:
        ConfigurationError: if the role cannot be assumed.
    """
    try:
        assumed = credentials.get_boto3_session().get_credentials()
        frozen = assumed.get_frozen_credentials()
    except Exception as error:
        role = credentials.assume_role_arn
        raise ConfigurationError(
            f"store='{BLOCK}{name}': the role {role!r} cannot be assumed: {error}"
        ) from error
    return {
        "key": frozen.access_key,
        "secret": frozen.secret_key,
        "token": frozen.token,
    }


def _first(owner: Any, *names: str) -> Any:
    return next((v for n in names if (v := getattr(owner, n, None)) is not None), None)


def _plain(value: Any) -> str | None:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return None if value is None else str(value)
