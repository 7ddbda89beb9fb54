"""Stores that a block names, and what counts where nobody says otherwise."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Optional

import pytest
from dask_blackbox.errors import ConfigurationError
from prefect import task
from prefect.blocks.core import Block
from prefect.blocks.fields import SecretDict
from prefect.testing.standard_test_suites import BlockStandardTestSuite
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import BlackboxStore, observed_flow
from prefect_dask_blackbox.options import RecordingOptions
from pydantic import BaseModel, SecretStr

ROOT = Path(__file__).parents[2]


class TestBlackboxStore(BlockStandardTestSuite):
    @pytest.fixture
    def block(self) -> type[Block]:
        return BlackboxStore

    def test_has_a_valid_image(self, block: type[Block]) -> None:
        # Not fetched, since tests need no network: it is a file of this repository.
        _, found, path = str(block._logo_url).partition("/dask-blackbox/main/")
        head = (ROOT / path).read_bytes()[:24]
        width, height = struct.unpack(">II", head[16:24])

        assert found
        assert head[1:4] == b"PNG"
        assert width == height
        assert 45 < width < 1000


class FakeClientParameters(BaseModel):
    """What prefect-aws's credentials have of boto3's client."""

    endpoint_url: str | None = None
    use_ssl: bool = True
    verify: bool | Path | None = None
    verify_cert_path: Path | None = None
    config: dict[str, Any] | None = None


class FakeCredentials(Block):
    """Credentials with the fields of prefect-aws's, of a session that ends."""

    _block_type_name = "Fake Credentials"
    _block_type_slug = "fake-credentials"

    aws_access_key_id: str = "ASIA"
    aws_secret_access_key: str = "s3cr3t"
    aws_session_token: str = "t0ken"
    aws_client_parameters: FakeClientParameters = FakeClientParameters()


class FakeBucket(Block):
    """A block with the fields of prefect-aws's `S3Bucket`, which need not be installed."""

    _block_type_name = "S3 Bucket"
    _block_type_slug = "s3-bucket"

    bucket_name: str
    bucket_folder: str = ""
    credentials: FakeCredentials | None = None


class FakeGcpCredentials(Block):
    """Credentials with the fields of prefect-gcp's."""

    _block_type_name = "Fake GCP Credentials"
    _block_type_slug = "fake-gcp-credentials"

    service_account_file: Path | None = None
    service_account_info: SecretDict | None = None


class FakeGcsBucket(Block):
    """A block with the fields of prefect-gcp's `GcsBucket`."""

    _block_type_name = "GCS Bucket"
    _block_type_slug = "gcs-bucket"

    bucket: str
    bucket_folder: str = ""
    gcp_credentials: FakeGcpCredentials = FakeGcpCredentials()


class FakeAzureCredentials(Block):
    """Credentials with the fields of prefect-azure's."""

    _block_type_name = "Fake Azure Credentials"
    _block_type_slug = "fake-azure-credentials"

    connection_string: Optional[SecretStr] = None  # noqa: UP045 - as prefect-azure's
    account_url: str | None = None
    client_id: str | None = None
    tenant_id: str | None = None
    client_secret: Optional[SecretStr] = None  # noqa: UP045 - as prefect-azure's


class FakeContainer(Block):
    """A block with the fields of prefect-azure's `AzureBlobStorageContainer`."""

    _block_type_name = "Azure Blob Storage Container"
    _block_type_slug = "azure-blob-storage-container"

    container_name: str
    base_folder: str | None = None
    credentials: FakeAzureCredentials = FakeAzureCredentials()


_KEY = {"client_email": "dask@example.org", "private_key": "-----BEGIN"}


def test_a_store_is_taken_from_a_gcs_bucket_with_its_service_account(
    tmp_path: Path,
) -> None:
    file = tmp_path / "key.json"
    file.write_text(json.dumps(_KEY))
    given: dict[str, Any] = {
        "information": FakeGcpCredentials(service_account_info=SecretDict(_KEY)),
        "file": FakeGcpCredentials(service_account_file=file),
    }
    for name, credentials in given.items():
        bucket = FakeGcsBucket(
            bucket="runs", bucket_folder="dask/", gcp_credentials=credentials
        )
        bucket.save(name, overwrite=True, _sync=True)  # type: ignore[call-arg]

        place = RecordingOptions(store=f"block:gcs-bucket/{name}").place()

        assert place.url == "gs://runs/dask"
        assert json.loads(place.all_settings()["credentials"]) == _KEY  # type: ignore[arg-type]
    file.unlink()
    with pytest.raises(ConfigurationError, match="service_account_file cannot be read"):
        RecordingOptions(store="block:gcs-bucket/file").place()


@pytest.mark.parametrize(
    ("given", "url", "credentials"),
    [
        ({}, "az://runs/dask", None),
        (
            {"connection_string": "AccountName=shop1;AccountKey=a2V5"},
            "az://runs/dask",
            "AccountName=shop1;AccountKey=a2V5",
        ),
        (
            {"account_url": "https://shop1.blob.core.windows.net"},
            "abfs://runs@shop1.blob.core.windows.net/dask",
            None,
        ),
        (
            {
                "account_url": "https://shop1.blob.core.windows.net",
                "client_id": "a",
                "client_secret": "hush",
                "tenant_id": "t",
            },
            "abfs://runs@shop1.blob.core.windows.net/dask",
            json.dumps({"clientId": "a", "clientSecret": "hush", "tenantId": "t"}),
        ),
    ],
)
def test_a_store_is_taken_from_an_azure_container_with_its_credentials(
    given: dict[str, Any], url: str, credentials: str | None
) -> None:
    container = FakeContainer(
        container_name="runs",
        base_folder="/dask/",
        credentials=FakeAzureCredentials(**given),
    )
    container.save("azure", overwrite=True, _sync=True)  # type: ignore[call-arg]

    place = RecordingOptions(store="block:azure-blob-storage-container/azure").place()

    assert place.url == url
    assert (place.settings or {}).get("credentials") == credentials
    place.all_settings()  # refuses what the store cannot read


def test_a_block_takes_its_place_from_a_bucket_and_has_the_last_word() -> None:
    bucket = FakeBucket(bucket_name="b", credentials=FakeCredentials())
    bucket.save("for-all", overwrite=True, _sync=True)  # type: ignore[call-arg]

    store = BlackboxStore(bucket_block="s3-bucket/for-all", region="eu-2").store()

    assert store.url == "s3://b"
    assert (store.settings or {})["region"] == "eu-2"
    assert (store.settings or {})["token"] == "t0ken"
    with pytest.raises(ConfigurationError, match="is no block of a bucket"):
        BlackboxStore(bucket_block="dask-blackbox-store/itself").store()


def test_a_store_is_taken_from_a_block_with_its_credentials() -> None:
    made = BlackboxStore(
        url="s3://dask-runs/nightly",
        endpoint="http://minio:9000",
        key="AKIA",  # type: ignore[arg-type]
        secret="s3cr3t",  # type: ignore[arg-type]
    )
    made.save("prod", overwrite=True, _sync=True)  # type: ignore[call-arg]

    url, settings = RecordingOptions(store="block:prod").place()

    assert url == "s3://dask-runs/nightly"
    assert settings == {
        "endpoint": "http://minio:9000",
        "key": "AKIA",
        "secret": "s3cr3t",
    }
    assert "s3cr3t" not in repr(made)


def test_a_store_is_taken_from_an_s3_bucket() -> None:
    bucket = FakeBucket(bucket_name="dask-runs", bucket_folder="dask/")
    bucket.save("own", overwrite=True, _sync=True)  # type: ignore[call-arg]

    assert RecordingOptions(store="block:s3-bucket/own").place() == (
        "s3://dask-runs/dask",
        {},
    )


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({}, {}),
        ({"verify": True}, {}),
        ({"verify": False, "use_ssl": False}, {}),
        ({"verify": "/etc/ssl/minio.pem"}, {"ca-bundle": "/etc/ssl/minio.pem"}),
        (
            {"endpoint_url": "https://minio:9000", "verify_cert_path": "/ssl/ca.pem"},
            {"endpoint": "https://minio:9000", "ca-bundle": "/ssl/ca.pem"},
        ),
        (
            {
                "config": {
                    "s3": {"addressing_style": "virtual"},
                    "request_checksum_calculation": "when_required",
                    "connect_timeout": 3,
                    "read_timeout": 7.5,
                    "retries": {"max_attempts": 4, "mode": "standard"},
                    "signature_version": "s3v4",
                }
            },
            {
                "addressing": "virtual",
                "checksum": "when_required",
                "connect-timeout": 3,
                "read-timeout": 7.5,
                "attempts": 5,
            },
        ),
        (
            {
                "config": {
                    "s3": {"addressing_style": "auto"},
                    "retries": {"total_max_attempts": 2},
                }
            },
            {"attempts": 2},
        ),
    ],
)
def test_the_client_parameters_of_an_s3_bucket_are_settings_of_the_store(
    given: dict[str, Any], settings: dict[str, Any]
) -> None:
    parameters = FakeClientParameters(**given)
    credentials = FakeCredentials(aws_client_parameters=parameters)
    bucket = FakeBucket(bucket_name="dask-runs", credentials=credentials)
    bucket.save("client", overwrite=True, _sync=True)  # type: ignore[call-arg]

    place = RecordingOptions(store="block:s3-bucket/client").place()

    keys = {"key": "ASIA", "secret": "s3cr3t", "token": "t0ken"}
    assert place.settings == {**keys, **settings}
    place.all_settings()  # refuses what the store cannot read


def test_a_block_that_is_not_there_is_an_error_with_its_name() -> None:
    with pytest.raises(ConfigurationError, match="block:missing"):
        RecordingOptions(store="block:missing").place()


def test_a_store_that_cannot_work_is_refused_when_the_flow_is_defined() -> None:
    with pytest.raises(ConfigurationError, match="hdfs://bucket"):
        observed_flow(store="hdfs://bucket/dask")


def test_prefects_settings_apply_where_nothing_else_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own: dict[str, Any] = {"follow_retry_advice": True}
    monkeypatch.setenv("PREFECT_INTEGRATIONS_DASK_BLACKBOX_STORE", str(tmp_path))
    monkeypatch.setenv("PREFECT_INTEGRATIONS_DASK_BLACKBOX_TRANSIENT_RETRIES", "2")

    found = RecordingOptions(**own).with_settings()
    given = RecordingOptions(store="s3://b", **own).with_settings()

    assert (found.store, given.store) == (str(tmp_path), "s3://b")
    assert (found.transient_retries, found.follow_retry_advice) == (2, True)


@task
def double(number: int) -> int:
    """Do something."""
    return 2 * number


def _doubles() -> int:
    result: int = double.submit(1).result()
    return result


TINY = {"n_workers": 1, "processes": False}
MISSING = "block:missing"


def test_a_required_recording_fails_the_flow_run_if_its_block_is_missing(
    prefect: Any, store: Path
) -> None:
    runner = DaskTaskRunner(cluster_kwargs=TINY)
    needs = observed_flow(
        store=MISSING, required=True, name="needs", task_runner=runner
    )(_doubles)

    with pytest.raises(ConfigurationError, match="missing"):
        needs()

    assert prefect.newest("needs", store).state == "FAILED"
    assert prefect.newest("needs", store).tasks == {}


def test_a_flow_whose_block_is_missing_runs_with_one_line_and_a_card(
    prefect: Any, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runner = DaskTaskRunner(cluster_kwargs=TINY)
    goes_on = observed_flow(store=MISSING, name="goes on", task_runner=runner)(_doubles)

    assert goes_on() == 2

    said = [each for each in caplog.records if "missing" in each.getMessage()]
    assert [each.getMessage().partition(":")[0] for each in said] == ["Not recorded"]
    [page] = prefect.newest("goes on", store).artifacts.values()
    assert "not recorded" in page
    assert "missing" in page


@pytest.mark.parametrize("name", ["gcs/prod", "local-file-system/prod", "x/"])
def test_a_block_of_a_type_that_names_no_store_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="'block:s3-bucket/NAME'"):
        observed_flow(store=f"block:{name}")


def test_a_session_token_is_taken_from_a_bucket_with_its_credentials() -> None:
    bucket = FakeBucket(bucket_name="b", credentials=FakeCredentials())
    bucket.save("tokened", overwrite=True, _sync=True)  # type: ignore[call-arg]

    url, settings = RecordingOptions(store="block:s3-bucket/tokened").place()

    assert url == "s3://b"
    assert settings == {"key": "ASIA", "secret": "s3cr3t", "token": "t0ken"}
