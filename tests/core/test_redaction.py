"""No byte of a store holds a secret, wherever the run has had it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from dask_blackbox.record.redact import Redactor
from flying import Flight, Home, every_byte, fly, messages

SECRETS = {
    "aws key": "AKIAZQ3DUMMYKEY4TEST",
    "aws secret": "q9Xw7vJtUdkE0Y3Z8rLmNpQsTuVwXyZa1b2c3d4e",
    "url password": "hunter-two-and-a-half",
    "bearer": "tok.en_value-0123456789abcdef",
    "json password": "correct-horse-battery",
    "badge": "4711081512",
    "token": "tkn-55aa55aa55aa",
    "config password": "pw-of-the-database",
    "config key": "key-of-the-service",
    "parameter": "pw-of-the-parameter",
}
COMPUTE_FAILED = "Compute Failed\nKey:       x\nState:     executing\nTask:  <Task 'x'"
AFTER = "\nException: \"ValueError('no')\""


@pytest.fixture(scope="module")
def flight(homes: Callable[[], Home]) -> Flight:
    home = homes()
    store = str(home.folder / "store")
    return fly(home, "secrets_everywhere.py", store, SECRETS=json.dumps(SECRETS))


@pytest.fixture(scope="module")
def stored(flight: Flight) -> bytes:
    return every_byte(flight.home.folder / "store")


@pytest.mark.parametrize("which", SECRETS)
def test_a_secret_is_nowhere_in_the_store(stored: bytes, which: str) -> None:
    assert SECRETS[which].encode() not in stored


@pytest.mark.parametrize("which", SECRETS)
def test_a_secret_is_not_on_the_card(flight: Flight, which: str) -> None:
    assert SECRETS[which] not in json.dumps(flight.told["card"])


def test_arguments_of_a_failed_task_stay_on_the_cluster(stored: bytes) -> None:
    assert b"Compute Failed" in stored
    assert b"leak(\xe2\x80\xa6)" in stored or b"leak(\\u2026)" in stored
    assert b"'badge':" not in stored


def test_the_users_own_exception_keeps_its_words(flight: Flight) -> None:
    assert all(SECRETS[which] in flight.told["passed"] for which in ("token", "bearer"))


def test_what_surrounds_a_secret_is_kept(flight: Flight, stored: bytes) -> None:
    logs = flight.run.logs

    assert len(messages(logs, "postgresql://[redacted]@db.internal")) >= 4
    assert messages(logs, "key [redacted] was used")
    assert b"Authorization" in stored
    [driver] = [
        each for each in flight.run.details("driver-attached") if "parameters" in each
    ]
    assert driver["parameters"]["rows"] == 17
    assert driver["parameters"]["password"] == "[redacted]"
    assert driver["config"]["mine"]["database"]["port"] == 5432


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("nothing to hide", "nothing to hide"),
        ("Worker tcp://127.0.0.1:4711 left", "Worker tcp://127.0.0.1:4711 left"),
        ("key=('x-1', 3)", "key=('x-1', 3)"),
        ("tokens: 12", "tokens: [redacted]"),
        ("x.TokenizationError: Object f has no", "x.TokenizationError: Object f has no"),
        ("jwt.InvalidTokenError: it has expired", "jwt.InvalidTokenError: it has expired"),
        ("password=hunter2, user=me", "password=[redacted], user=me"),
        ("s3://bucket/key?X-Amz-Signature=0a1b2c", "s3://bucket/key?X-Amz-Signature=[redacted]"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ", "[redacted]"),
        (f"{COMPUTE_FAILED} f(1,\n 'data')>{AFTER}", f"{COMPUTE_FAILED} f(…){AFTER}"),
        ("redis://:pw@cache/0", "redis://[redacted]@cache/0"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nafter",
            "[redacted]\nafter",
        ),
    ],
)  # fmt: skip
def test_text_loses_its_secrets_and_nothing_else(text: str, clean: str) -> None:
    assert Redactor().text(text) == clean


def test_settings_named_key_are_blank_and_keys_of_tasks_are_not() -> None:
    value = {"config": {"s3": {"key": "abc"}}, "executing": [{"key": "sum-1"}]}

    assert Redactor().value(value) == {
        "config": {"s3": {"key": "[redacted]"}},
        "executing": [{"key": "sum-1"}],
    }


def test_lists_under_a_secret_name_are_blank_too() -> None:
    assert Redactor().value({"tokens": ["a", "b"], "password": None}) == {
        "tokens": ["[redacted]", "[redacted]"],
        "password": None,
    }


def test_names_of_packages_and_prefixes_are_no_secrets() -> None:
    value = {
        "packages": {"tokenizers": "0.21.0", "secretstorage": "3.3.3"},
        "new": {"tokenize": [4, 4]},
        "config": {"packages": {"token": "abc"}},
    }

    assert Redactor().value(value) == value | {
        "config": {"packages": {"token": "[redacted]"}}
    }


def test_a_sketch_holds_no_secret_either(flight: Flight, stored: bytes) -> None:
    assert b'"package/driver"' in stored  # its text was among what was searched
    assert list(Path(flight.home.folder / "store" / "sketches").rglob("*~failed~*"))


def test_a_store_of_this_test_is_not_empty(flight: Flight, stored: bytes) -> None:
    assert b"leak_and_die" in stored
    assert len(list(Path(flight.home.folder / "store").rglob("*.seg"))) >= 1
