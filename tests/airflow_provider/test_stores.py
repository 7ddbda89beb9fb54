"""Where a task records to, and with whose credentials."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import airflow.providers
import pytest
from airflow_dask_blackbox.stores import configured_store, store_settings_of
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.store import store_settings


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow connections, one to a bucket and one to a database."""
    bucket = {
        "conn_type": "aws",
        "login": "AKIA",
        "password": "secret",
        "extra": {"endpoint_url": "http://minio:9000", "region_name": "eu-1"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_BUCKET", json.dumps(bucket))
    temporary = {
        "conn_type": "aws",
        "extra": {
            "aws_access_key_id": "ASIA",
            "aws_secret_access_key": "secret",
            "aws_session_token": "of an hour",
        },
    }
    monkeypatch.setenv("AIRFLOW_CONN_TEMPORARY", json.dumps(temporary))
    role = {"conn_type": "aws", "extra": {"role_arn": "arn:aws:iam::1:role/recorder"}}
    monkeypatch.setenv("AIRFLOW_CONN_ROLE", json.dumps(role))
    monkeypatch.setenv("AIRFLOW_CONN_DATABASE", json.dumps({"conn_type": "postgres"}))


def test_the_operators_store_goes_before_airflows_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert configured_store(None) is None
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", "s3://configured")
    assert configured_store(None) == "s3://configured"
    assert configured_store("s3://own") == "s3://own"


@pytest.mark.usefixtures("connections")
def test_a_connection_gives_what_single_settings_do_not() -> None:
    assert store_settings_of("bucket", {"region": "eu-2"}) == {
        "key": "AKIA",
        "secret": "secret",
        "endpoint": "http://minio:9000",
        "region": "eu-2",
    }
    assert store_settings_of(None, None) is None


@pytest.mark.usefixtures("connections")
def test_a_connection_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs one of type 'aws'"):
        store_settings_of("database", None)


@pytest.mark.usefixtures("airflow")
def test_an_id_that_no_connection_has_is_refused() -> None:
    said = (
        "store_conn_id='nobody': Airflow has no such connection; create one of type 'aws', or "
        "correct the id"
    )
    with pytest.raises(ConfigurationError, match=f"^{re.escape(said)}$"):
        store_settings_of("nobody", None)


@pytest.mark.usefixtures("connections")
def test_temporary_keys_come_with_their_token() -> None:
    assert store_settings_of("temporary", None) == {
        "key": "ASIA",
        "secret": "secret",
        "token": "of an hour",
    }


@pytest.mark.usefixtures("connections")
def test_a_role_is_refused_where_nobody_can_assume_it() -> None:
    with pytest.raises(ConfigurationError) as caught:
        store_settings_of("role", None)

    assert str(caught.value) == (
        "connection 'role' has role_arn, which needs Airflow's amazon provider: install "
        "apache-airflow-providers-amazon where tasks run, or name a profile in the "
        "connection's extra (profile_name)"
    )


_AMAZON = """
class AwsBaseHook:
    def __init__(self, aws_conn_id, client_type):
        assert (aws_conn_id, client_type) == ("role", "s3")
        self.region_name = "eu-1"
        self.conn_config = self

    def get_credentials(self, *, region_name=None):
        from botocore.credentials import ReadOnlyCredentials
        return ReadOnlyCredentials("ASIA", "secret of " + region_name, "of the role")

    def get_service_endpoint_url(self, service):
        return None
"""


@pytest.fixture
def amazon_provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A package with the signatures of Airflow's amazon provider 9.39, which is large."""
    hooks = tmp_path / "amazon" / "aws" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "base_aws.py").write_text(_AMAZON)
    monkeypatch.setattr(airflow.providers, "__path__", [str(tmp_path)])
    yield
    for name in [n for n in sys.modules if n.startswith("airflow.providers.amazon")]:
        del sys.modules[name]


@pytest.mark.usefixtures("connections", "amazon_provider")
def test_a_role_is_assumed_by_the_amazon_provider_where_it_is_installed() -> None:
    assert store_settings_of("role", {"endpoint": "http://minio:9000"}) == {
        "key": "ASIA",
        "secret": "secret of eu-1",
        "token": "of the role",
        "region": "eu-1",
        "endpoint": "http://minio:9000",
    }


_SERVICE_ACCOUNT = {"client_email": "dask@example.org", "private_key": "-----BEGIN"}


@pytest.mark.parametrize(
    ("connection", "credentials"),
    [
        (
            {
                "conn_type": "google_cloud_platform",
                "extra": {"keyfile_dict": json.dumps(_SERVICE_ACCOUNT)},
            },
            json.dumps(_SERVICE_ACCOUNT),
        ),
        (
            {
                "conn_type": "google_cloud_platform",
                "extra": {
                    "extra__google_cloud_platform__keyfile_dict": _SERVICE_ACCOUNT
                },
            },
            json.dumps(_SERVICE_ACCOUNT),
        ),
        ({"conn_type": "google_cloud_platform"}, None),
        (
            {"conn_type": "wasb", "login": "runs1", "password": "a2V5"},
            "AccountName=runs1;AccountKey=a2V5",
        ),
        (
            {
                "conn_type": "wasb",
                "login": "runs1",
                "extra": {
                    "sas_token": "https://runs1.blob.core.windows.net/c?sv=1&sig=x"
                },
            },
            "AccountName=runs1;SharedAccessSignature=sv=1&sig=x",
        ),
        (
            {
                "conn_type": "wasb",
                "login": "app",
                "password": "hush",
                "extra": {"tenant_id": "t"},
            },
            json.dumps({"clientId": "app", "clientSecret": "hush", "tenantId": "t"}),
        ),
        (
            {"conn_type": "wasb", "extra": {"connection_string": "AccountKey=x"}},
            "AccountKey=x",
        ),
        ({"conn_type": "wasb"}, None),
    ],
)
def test_connections_of_other_clouds_give_their_credentials(
    connection: dict[str, object],
    credentials: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLOUD", json.dumps(connection))

    found = store_settings_of("cloud", None)

    assert found == ({"credentials": credentials} if credentials else {})
    if credentials != "AccountKey=x":
        scheme = "gs" if connection["conn_type"] != "wasb" else "az"
        # Which refuses other forms, and needs no library of the cloud.
        store_settings(f"{scheme}://runs/dask", settings=found)


def test_the_key_file_of_a_google_connection_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = tmp_path / "key.json"
    connection = {
        "conn_type": "google_cloud_platform",
        "extra": {"key_path": str(key)},
    }
    monkeypatch.setenv("AIRFLOW_CONN_CLOUD", json.dumps(connection))

    with pytest.raises(ConfigurationError, match="its key_path cannot be read"):
        store_settings_of("cloud", None)
    key.write_text(json.dumps(_SERVICE_ACCOUNT))

    assert store_settings_of("cloud", None) == {
        "credentials": json.dumps(_SERVICE_ACCOUNT)
    }


def test_a_google_connection_that_takes_more_is_refused_with_the_field(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = {
        "conn_type": "google_cloud_platform",
        "extra": {"impersonation_chain": "other@example.org"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_CLOUD", json.dumps(connection))

    with pytest.raises(ConfigurationError, match="has impersonation_chain, which a"):
        store_settings_of("cloud", None)
