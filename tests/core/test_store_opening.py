"""What users write as a store, right and wrong, and the settings that go with it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
import pytest
from dask_blackbox.errors import (
    ConfigurationError,
    StoreDeniedError,
    StoreError,
    StoreUnreachableError,
)
from dask_blackbox.store import open_store, store_settings


@pytest.mark.parametrize(
    ("url", "named_again"),
    [
        ("s3://my-bucket", "s3://my-bucket"),
        ("s3://my-bucket/", "s3://my-bucket"),
        ("s3://my-bucket/dask/runs/", "s3://my-bucket/dask/runs"),
        ("S3://my-bucket/Zoë's runs", "s3://my-bucket/Zoë's runs"),
        ("gs://my_bucket.shop/dask/", "gs://my_bucket.shop/dask"),
        ("gcs://my-bucket", "gs://my-bucket"),
        ("az://recordings/dask/", "az://recordings/dask"),
        (
            "abfss://recordings@shop1.dfs.core.windows.net/dask",
            "abfs://recordings@shop1.dfs.core.windows.net/dask",
        ),
        ("/data/runs/", "/data/runs"),
        ("/data/../data/runs", "/data/runs"),
        ("file:///data/runs", "/data/runs"),
        ("file://localhost/data/my%20runs", "/data/my runs"),
    ],
)
def test_a_store_can_be_named_again_by_its_url(url: str, named_again: str) -> None:
    assert open_store(url).url == named_again
    assert open_store(named_again).url == named_again


def test_a_path_is_taken_from_here_and_from_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    assert open_store("runs").url == str(tmp_path / "runs")
    assert open_store(Path("a:b")).url == str(tmp_path / "a:b")
    assert open_store("~/runs").url == str(tmp_path / "home/runs")
    assert open_store("file://~/runs").url == str(tmp_path / "home/runs")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("s3://", "contains no bucket"),
        ("s3:///prefix", "contains no bucket"),
        ("s3:bucket/prefix", "lacks the //"),
        ("s3://My_Bucket/x", "cannot be a bucket"),
        ("s3://ab", "3 to 63 characters"),
        ("s3://10.0.0.1/x", "cannot be a bucket"),
        ("s3://bucket/a//b", "empty part"),
        ("s3://bucket/../b", "empty part, a . or a .."),
        ("s3://bucket/a?region=eu", "settings under blackbox.store"),
        ("s3://bucket/" + "a" * 201, "longer than 200 bytes"),
        ("s3://bucket/a\nb", "control character"),
        ("s3a://bucket/x", "use s3://"),
        ("gs://ab", "3 to 63 characters of a-z 0-9 . _ and -"),
        ("az:recordings", "lacks the //"),
        ("abfs://recordings@elsewhere/x", "names no storage account"),
        ("hdfs://name/x", "a store is s3://bucket/prefix, gs://bucket/prefix"),
        ("memory://", "a store is s3://bucket/prefix"),
        ("http://localhost:9000/bucket", "blackbox.store.endpoint"),
        ("file://machine/folder", "three slashes"),
        ("~nobody-of-this-name/x", "home directory"),
        (__file__, "is a file"),
    ],
)
def test_what_cannot_be_a_store_is_refused_at_once(url: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says.replace(".", r"\.")):
        open_store(url)


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIAKEY:hush9hush@bucket/x",
        "s3://AKIAKEY:hush9/hush@bucket/x",
        "gs://AKIAKEY:hush9hush@bucket/x",
        "az://AKIAKEY:hush9/hush@bucket/x",
        "abfs://AKIAKEY:hush9hush@shop1.dfs.core.windows.net/x",
        "https://AKIAKEY:hush9hush@host/x",
    ],
)
def test_a_refusal_does_not_repeat_credentials(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        open_store(url)

    assert "AKIAKEY" not in str(refused.value)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"endpoint": "localhost:9000"}, "http://localhost:9000"),
        ({"endpoint": "s3.example.com"}, "https://s3.example.com"),
        ({"endpoint": "ftp://s3.example.com"}, "needs a scheme"),
        ({"endpoint": "https://"}, "needs a scheme"),
        ({"endpoint": "http://host:port"}, "endpoint"),
        ({"endpoint": "http://host/?x=1"}, "remove everything from"),
        ({"endpoint": 9000}, "URL like"),
        ({"sse": "yes"}, "AES256 or aws:kms"),
        ({"sse-kms-key-id": "alias/x"}, "sse: aws:kms"),
        ({"checksum": "never"}, "when_supported or when_required"),
        ({"attempts": 0}, "a number of 1 or more"),
        ({"attempts": True}, "a number of 1 or more"),
        ({"read_timeout": "soon"}, "a duration like '10s'"),
        ({"connect-timeout": -1}, "a duration like '10s'"),
        ({"key": "AKIA"}, "store.key is set without"),
        ({"secret": "x"}, "store.secret is set without"),
        ({"region": 1}, "which is not text"),
        ({"credentials": "{}"}, "is for gs:// and az:// stores"),
        (
            {"end-point": "http://x"},
            "unknown store setting: end-point; known settings: url, endpoint",
        ),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says.replace(".", r"\.")):
        open_store("s3://bucket", settings=settings)


def test_settings_are_refused_without_repeating_secrets() -> None:
    for settings in (
        {"endpoint": "//user:s3cret@host"},
        {"endpoint": "https://user:s3cret@host"},
        {"secret": 53.5},
    ):
        with pytest.raises(ConfigurationError) as refused:
            open_store("s3://bucket", settings=settings)

        assert "s3cret" not in str(refused.value)
        assert "53.5" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "credentials", "says"),
    [
        ("gs://bucket", "/keys/hush.json", "the text of the file, not its path"),
        ("gs://bucket", '{"private_key": "hush"}', "lacks client_email; give the JSON"),
        ("gs://bucket", ["hush"], "is not text; quote it"),
        ("az://runs", "AccountName=hush", "no AccountKey= and no SharedAccessSign"),
        ("az://runs", '{"clientId": "hush"}', "lacks clientSecret and tenantId"),
        ("az://runs", "{hush", "is not JSON"),
    ],
)
def test_credentials_of_another_form_are_refused_without_repeating_them(
    url: str, credentials: object, says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says) as refused:
        open_store(url, settings={"credentials": credentials})

    assert "hush" not in str(refused.value)


def test_a_variable_beside_the_credentials_of_a_service_account_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "/keys/key.json")
    key = {"client_email": "a@example.org", "private_key": "x"}

    with pytest.raises(ConfigurationError, match="the variable GOOGLE_SERVICE_ACCOUNT"):
        open_store("gs://bucket", settings={"credentials": key})


def test_settings_come_from_dask_and_are_overridden_by_arguments() -> None:
    with dask.config.set(
        {
            "blackbox.store.url": "s3://configured/x",
            "blackbox.store.endpoint": "http://one:1",
            "blackbox.store.region": "eu-west-1",
            "blackbox.store.read-timeout": "1 minute",
        }
    ):
        found = store_settings(settings={"endpoint": "http://two:2"})

        assert open_store().url == "s3://configured/x"
    assert found["url"] == "s3://configured/x"
    assert found["endpoint"] == "http://two:2"
    assert found["region"] == "eu-west-1"
    assert found["read-timeout"] == 60.0
    assert found["attempts"] == 3


def test_defaults_outlive_a_context_of_dask_config_that_began_before_them() -> None:
    program = (
        "import dask\n"
        "with dask.config.set({'blackbox.store.url': '/runs', 'blackbox.stall.after': 1}):\n"
        "    import dask_blackbox.settings\n"
        "from dask_blackbox.store import store_settings\n"
        "print(store_settings()['attempts'], dask_blackbox.settings.setting('job'))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DASK_BLACKBOX__JOB": "nightly"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout

    assert printed.split() == ["3", "nightly"]


def test_settings_travel_to_a_process_with_another_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reported = json.dumps(store_settings("here/runs"))
    program = (
        "import json, sys\n"
        "from dask_blackbox.store import open_store\n"
        f"store = open_store(settings=json.loads({reported!r}))\n"
        "print(store.url, [m for m in ('boto3', 'dask', 'polars') if m in sys.modules])"
    )

    message = subprocess.run(
        [sys.executable, "-c", program],
        cwd="/",
        env=os.environ | {"DASK_BLACKBOX__STORE__URL": "s3://another"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert message.strip() == f"{tmp_path}/here/runs []"


def test_without_a_url_recordings_go_to_a_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    at_home = open_store().url
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    in_data = open_store().url

    assert at_home == str(tmp_path / "home/.local/share/dask-blackbox")
    assert in_data == str(tmp_path / "data/dask-blackbox")
    assert stat.S_IMODE(Path(in_data).stat().st_mode) == 0o700


def test_without_a_usable_home_they_go_to_the_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/proc/nowhere")  # root can't write there, either
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    url = open_store().url

    assert url == str(tmp_path / f"dask-blackbox-{os.getuid()}")
    open_store(url).check()


def test_a_folder_that_cannot_be_written_is_reported_before_the_run() -> None:
    with pytest.raises(StoreError, match=r"cannot write .* in /proc/1/here"):
        open_store("/proc/1/here").check()


def test_a_folder_of_another_user_is_denied(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    uid = os.geteuid()
    if uid == 0:  # who may write everywhere
        os.seteuid(65534)
    try:
        with pytest.raises(StoreDeniedError, match="write permission"):
            open_store(tmp_path / "runs").check()
    finally:
        os.seteuid(uid)


def test_a_blob_under_a_file_is_reported_so(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.put("a", b"1")

    with pytest.raises(StoreError, match="a folder, not a file"):
        store.put("a/b", b"2")


def test_settings_of_one_cloud_are_refused_for_another() -> None:
    with pytest.raises(
        ConfigurationError, match=r"store\.profile is for buckets of S3"
    ):
        open_store("gs://bucket/x", settings={"profile": "shop"})


@pytest.mark.parametrize("url", ["gs://my-bucket/x", "az://recordings/x"])
def test_a_cloud_that_does_not_answer_is_named(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "hush9hush")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "shop1")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "aHVzaDlodXNo")
    nobody = {"endpoint": "http://127.0.0.1:9", "attempts": 1}

    with pytest.raises(
        StoreUnreachableError, match=r"is blackbox\.store\.endpoint right"
    ):
        open_store(url, settings=nobody).put("a", b"1")


def test_azure_without_an_account_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for each in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(each)

    with pytest.raises(StoreDeniedError, match="AZURE_STORAGE_ACCOUNT_NAME"):
        open_store("az://recordings/x").check()


def test_a_connection_string_of_azure_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = "DefaultEndpointsProtocol=http;AccountName=shop1;AccountKey=aHVzaA=="
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", parts)
    store = open_store("az://recordings/dask")

    link = store.link("report.html", expires=60)

    assert link is not None
    assert link.startswith("https://shop1.blob.core.windows.net/recordings/dask/report")
