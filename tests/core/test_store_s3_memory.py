"""Clients of S3 share the descriptions of services: each copy is 10 MB of a recorder's memory."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ProfileNotFound
from botocore.loaders import JSONFileLoader
from dask_blackbox.store.options import StoreOptions, gathered
from dask_blackbox.store.s3 import client_of, credentials_found


def options(**settings: Any) -> StoreOptions:
    known = {"key": "a-key", "secret": "a-secret", "region": "eu-central-1"}
    return StoreOptions.of(gathered(known | settings))


def test_a_second_client_reads_no_description_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client_of(options())
    read: list[str] = []
    load_file = JSONFileLoader.load_file

    def noted(self: Any, file_path: str) -> Any:
        found = load_file(self, file_path)
        if found is not None:
            read.append(file_path)
        return found

    monkeypatch.setattr(JSONFileLoader, "load_file", noted)
    second = client_of(options(key="another-key", endpoint="http://127.0.0.1:1"))

    assert read == []
    assert second.meta.endpoint_url == "http://127.0.0.1:1"


def test_clients_that_share_them_do_not_share_credentials() -> None:
    first, second = client_of(options()), client_of(options(key="another-key"))

    keys = [
        client.generate_presigned_url("get_object", Params={"Bucket": "b", "Key": "k"})
        .partition("Credential=")[2]
        .partition("%2F")[0]
        for client in (first, second)
    ]
    assert keys == ["a-key", "another-key"]


def test_a_profile_that_there_is_not_is_still_an_error() -> None:
    with pytest.raises(ProfileNotFound):
        credentials_found(options(profile="nobodys-profile"))
