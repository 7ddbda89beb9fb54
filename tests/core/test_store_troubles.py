"""What a server does wrong is an error of the store, in time; never a success, never silence."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from dask_blackbox.errors import StoreError
from dask_blackbox.store import Store, open_store
from dask_blackbox.testing import EmbeddedS3, FaultyS3, faults, faulty_s3
from dask_blackbox.testing.faults import Fault

TRANSIENT: dict[str, Fault] = {
    "slow down": faults.slow_down,
    "internal error": faults.internal_error,
    "silence": faults.silence,
    "upload reset": faults.upload_reset(10),
    "answer lost": faults.answer_lost,
    "answer cut off in its headers": faults.answer_cut_off(40),
    "answer cut off at once": faults.answer_cut_off(5),
    "garbled": faults.garbled,
}
LASTING: dict[str, Fault] = {
    "access denied": faults.access_denied,
    "expired token": faults.expired_token,
    "bucket gone": faults.no_such_bucket,
    "clock skewed": faults.skewed_clock,
    "other region": faults.other_region,
}


@pytest.fixture(scope="module")
def proxy(s3: EmbeddedS3) -> Iterator[FaultyS3]:
    with faulty_s3(s3) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: FaultyS3) -> Iterator[Store]:
    hasty = {"read-timeout": 1, "connect-timeout": 1, "attempts": 1}
    store = open_store(f"{proxy.server.url}/t", settings=proxy.server.settings | hasty)
    store.put("there", b"0123456789")
    yield store
    proxy.work()


@pytest.mark.parametrize("trouble", [*TRANSIENT, *LASTING])
def test_a_trouble_is_an_error_and_its_end_is_the_end(
    proxy: FaultyS3, store: Store, trouble: str
) -> None:
    proxy.begin((TRANSIENT | LASTING)[trouble])
    for asking in (
        lambda: store.put("a", b"1" * 3000),
        lambda: store.get("there"),
        lambda: list(store.names()),
    ):
        with pytest.raises(StoreError) as reported:
            asking()
        assert reported.value.transient == (trouble in TRANSIENT)
    proxy.work()

    store.put("a", b"2")
    assert store.get("there") == b"0123456789"
    assert {"a", "there"} <= set(store.names())


def test_a_page_to_log_in_at_is_not_taken_for_a_store(
    proxy: FaultyS3, store: Store
) -> None:
    proxy.begin(faults.web_page)
    with pytest.raises(StoreError):
        store.put("a", b"1")
    with pytest.raises(StoreError, match="does not speak S3"):
        store.get("there")


def test_a_server_that_repeats_what_it_was_reported_gives_away_nothing(
    proxy: FaultyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = {
        "AWS_ACCESS_KEY_ID": "ASIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "AWS_SESSION_TOKEN": "FwoGZXIvYXdzEJr//////////wEaDEXAMPLETOKEN",
    }
    for name, value in reported.items():
        monkeypatch.setenv(name, value)
    known = {"endpoint": proxy.server.endpoint, "region": "us-east-1", "attempts": 1}
    store = open_store(proxy.server.url, settings=known | {"key": None, "secret": None})
    seen: list[str] = []

    def repeat(exchange: faults.Exchange) -> None:
        seen.append("; ".join(f"{k}={v}" for k, v in exchange.headers.items()))
        faults.error(400, "Weird", seen[-1])(exchange)

    proxy.begin(repeat)
    with pytest.raises(StoreError) as text:
        store.put("a", b"1")
    proxy.work()

    assert "ASIAIOSFODNN7EXAMPLE" in seen[0]
    signature = seen[0].partition("Signature=")[2][:64]
    for secret in (*reported.values(), signature):
        assert secret not in str(text.value)


def test_an_answer_that_drips_is_not_waited_for_for_ever(
    proxy: FaultyS3, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dask_blackbox.store.bounds._MARGIN", 0.5)
    proxy.begin(faults.answer_dripping(0.2))
    begun = time.monotonic()
    with pytest.raises(StoreError, match=r"no answer within 2\.5 s"):
        store.get("there")

    assert time.monotonic() - begun < 60  # the drip would take minutes


def test_a_refused_connection_is_an_error_until_somebody_listens(
    proxy: FaultyS3, store: Store
) -> None:
    proxy.refuse()
    with pytest.raises(StoreError, match="is that server running"):
        store.put("a", b"1")
    proxy.work()

    store.put("a", b"3")
    assert store.get("a") == b"3"


def test_a_trouble_affects_its_operations_only(proxy: FaultyS3, store: Store) -> None:
    trouble = proxy.begin(
        faults.access_denied, method="PUT", names="*.seg", after=1, times=1
    )
    store.put("1.seg", b"1")
    store.put("other", b"1")
    with pytest.raises(StoreError):
        store.put("2.seg", b"1")
    store.put("3.seg", b"1")

    assert trouble.met == 1
    assert [each.name for each in proxy.asked if each.fault][-1] == "t/2.seg"
