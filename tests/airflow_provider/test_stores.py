"""Where a task records to, and with whose credentials."""

from __future__ import annotations

import json

import pytest
from airflow_dask_blackbox.stores import configured_store, store_settings_of
from dask_blackbox.errors import ConfigurationError


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
    with pytest.raises(ConfigurationError, match="wants one of type 'aws'"):
        store_settings_of("database", None)
