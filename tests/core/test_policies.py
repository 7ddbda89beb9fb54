"""The policies that `dask blackbox policy` prints suffice, and allow no more than documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from click.testing import CliRunner
from dask.distributed import Client, LocalCluster
from dask_blackbox import Run, RunCard, recording
from dask_blackbox.cli.policy import policy
from dask_blackbox.errors import BlobNotFoundError, StoreDeniedError
from dask_blackbox.layout import RunAddress, sketch_folder
from dask_blackbox.store import Store, open_store
from dask_blackbox.testing import EmbeddedS3, FaultyS3, faulty_s3
from iam_gateway import Gateway

pytestmark = pytest.mark.processes

DOCS = Path(__file__).parents[2] / "docs"
WHOLE = {"recorded": True, "kept": "store", "complete": True}
PREFIX = "team/etl"
GET, PUT, LIST, DELETE = (
    "s3:GetObject",
    "s3:PutObject",
    "s3:ListBucket",
    "s3:DeleteObject",
)


def printed(*words: str) -> str:
    done = CliRunner().invoke(policy, list(words))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    spool = tmp_path_factory.mktemp("spool")
    with (
        dask.config.set({"blackbox.spool": str(spool)}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as c,
        Client(c) as client,
    ):
        yield client


@pytest.fixture
def proxy(s3: EmbeddedS3) -> Iterator[FaultyS3]:
    with faulty_s3(s3) as proxy:
        yield proxy


def enforced(proxy: FaultyS3, *words: str) -> Gateway:
    document = json.loads(printed(*words, f"{proxy.server.url}/{PREFIX}"))
    gateway = Gateway(document)
    proxy.begin(gateway)
    return gateway


def recorded(proxy: FaultyS3, client: Client, job: str, run_id: str) -> RunCard:
    rec = recording(
        client,
        store=f"{proxy.server.url}/{PREFIX}",
        store_settings=proxy.server.settings | {"attempts": 1},
        job=job,
        run_id=run_id,
    )
    with rec:
        assert client.submit(len, "abc", pure=False).result() == 3
    return rec.card


def store_of(server: EmbeddedS3) -> Store:
    """Return the store, as one with the credentials of that server sees it."""
    settings = server.settings | {"attempts": 1}
    return open_store(f"{server.url}/{PREFIX}", settings=settings)


def attempts(store: Store, job: str, run: str) -> list[str]:
    return sorted(store.folders(f"runs/job={job}/run={run}/"))


def is_whole(server: EmbeddedS3, card: RunCard) -> None:
    folder = RunAddress.of_run(card).folder
    run = Run.open(f"{server.url}/{PREFIX}/{folder}", settings=server.settings)

    assert WHOLE.items() <= card.completeness.items(), card.completeness
    assert run.verify() == {}
    assert run.tasks.height == 1


@pytest.mark.parametrize("job", ["one", pytest.param("all", marks=pytest.mark.nightly)])
def test_the_policy_for_recording_suffices(
    proxy: FaultyS3, client: Client, job: str
) -> None:
    words = [] if job == "all" else ["--job", f"full/{job}"]
    gateway = enforced(proxy, *words)

    first = recorded(proxy, client, f"full/{job}", "r")
    second = recorded(proxy, client, f"full/{job}", "r")
    third = recorded(proxy, client, f"full/{job}", "s")

    assert [each.attempt for each in (first, second, third)] == [1, 2, 1]
    assert [
        each for each in gateway.refused if not is_absent(proxy.behind, *each)
    ] == []
    for card in (first, second, third):
        is_whole(proxy.behind, card)
    # Earlier runs are known.
    sketches = f"{PREFIX}/{sketch_folder(f'full/{job}')}"
    assert any(
        each.method == "GET" and each.name.startswith(sketches) for each in proxy.asked
    )


def is_absent(server: EmbeddedS3, action: str, key: str) -> bool:
    """Return whether what was refused is a blob that is not there."""
    names = store_of(server).names(key.removeprefix(f"{PREFIX}/"))
    return action == GET and key.removeprefix(f"{PREFIX}/") not in names


@pytest.mark.nightly
@pytest.mark.parametrize("job", ["one", "all"])
def test_write_only_credentials_record_and_lack_the_history_only(
    proxy: FaultyS3, client: Client, job: str
) -> None:
    name = f"blind-{job}"
    gateway = enforced(
        proxy, "--write-only", *([] if job == "all" else ["--job", name])
    )

    first = recorded(proxy, client, name, "r")
    second = recorded(proxy, client, name, "r")

    for card in (first, second):
        is_whole(proxy.behind, card)
    assert (first.attempt, second.attempt) == (1, 2)
    kinds = {
        (action, key.removeprefix(f"{PREFIX}/").split("/")[0])
        for action, key in gateway.refused
        if not is_absent(proxy.behind, action, key)
    }
    # Whether the first attempt has left a cluster is in its recording.
    history = {(LIST, "index"), (LIST, "sketches"), (LIST, "notes")}
    assert kinds <= {*history, (GET, "runs")}
    denied = {key for action, key in gateway.refused if action == GET}
    assert {each.partition("/run=")[2] for each in denied} <= {
        "r/attempt=1/complete.json"
    }
    assert len(list(store_of(proxy.behind).names(f"sketches/{name}/"))) == 2


@pytest.mark.parametrize("words", [["--write-only"], ["--write-only", "--job", "mine"]])
def test_write_only_credentials_read_no_recordings(
    proxy: FaultyS3, words: list[str]
) -> None:
    ours = store_of(proxy.behind)
    for name in ("card.json", "report.html", "tables/tasks.parquet"):
        ours.put(f"runs/job=mine/run=r/attempt=1/{name}", b"{}")
    enforced(proxy, *words)
    store = store_of(proxy.server)

    for name in ("card.json", "report.html", "tables/tasks.parquet"):
        with pytest.raises(StoreDeniedError):
            store.get(f"runs/job=mine/run=r/attempt=1/{name}")
        with pytest.raises(StoreDeniedError):
            store.delete(f"runs/job=mine/run=r/attempt=1/{name}")
    for prefix in ("", "runs/", "runs/job=mine/", "index/", "sketches/mine/"):
        with pytest.raises(StoreDeniedError):
            list(store.names(prefix))


@pytest.mark.parametrize("words", [["--write-only"], []])
def test_credentials_for_one_job_reach_no_other(
    proxy: FaultyS3, words: list[str]
) -> None:
    others = [
        "runs/job=mine-too/run=mine/attempt=1/run.json",
        "index/jobs/mine-too/00000000000000~mine~1~succeeded",
        "index/all/00000000000000~mine-too~mine~1~succeeded",
        "sketches/mine-too/00000000000000~mine~1~succeeded",
    ]
    for name in others:
        store_of(proxy.behind).put(name, b"{}")
    enforced(proxy, *words, "--job", "mine")
    store = store_of(proxy.server)

    for name in others:
        for asking in (
            lambda name=name: store.put(name, b"2"),
            lambda name=name: store.get(name),
            lambda name=name: store.delete(name),
            lambda name=name: list(store.names(name.rpartition("/")[0] + "/")),
        ):
            with pytest.raises(StoreDeniedError):
                asking()
    store.put("index/all/00000000000000~mine~r~1~running", b"")
    assert store_of(proxy.behind).get(others[0]) == b"{}"


def test_what_is_not_there_is_missing_and_not_denied(proxy: FaultyS3) -> None:
    """The condition on the prefix makes S3 answer 403 for both."""
    store_of(proxy.behind).put("runs/secret.json", b"{}")
    enforced(proxy, "--read-only")
    store = store_of(proxy.server)

    with pytest.raises(BlobNotFoundError):
        store.get("runs/job=none/run=r/attempt=1/complete.json")
    assert store.get("runs/secret.json") == b"{}"
    with pytest.raises(StoreDeniedError):
        store.put("runs/secret.json", b"2")
    assert store.server_time() is not None  # type: ignore[attr-defined]


def test_nobody_deletes_the_audit_of_deletions(proxy: FaultyS3) -> None:
    enforced(proxy)
    store = store_of(proxy.server)
    store.put("audit/00000000000000-a.jsonl", b"{}")

    with pytest.raises(StoreDeniedError):
        store.delete("audit/00000000000000-a.jsonl")


def blocks(page: str) -> list[Any]:
    text = (DOCS / page).read_text()
    return [each.partition("```")[0] for each in text.split("```json\n")[1:]]


def test_the_documented_policies_are_the_printed_ones() -> None:
    url = "s3://dask-runs/etl"
    documented = [each for each in blocks("howto/s3.md") if "Statement" in each]

    assert documented == [
        printed(url),
        printed("--write-only", url),
        printed("--job", "nightly", url),
        printed("--write-only", "--job", "nightly", url),
        printed("--read-only", url),
    ]
    elsewhere = [
        str(page)
        for page in DOCS.rglob("*.md")
        if page.name != "s3.md" and "arn:aws:s3" in page.read_text()
    ]
    assert elsewhere == []


def test_letters_that_mean_something_in_a_policy_are_literal() -> None:
    document = json.loads(printed("s3://dask-runs/a*b$c"))
    gateway = Gateway(document)

    assert gateway.allows(PUT, "arn:aws:s3:::dask-runs/a*b$c/x", None)
    assert not gateway.allows(PUT, "arn:aws:s3:::dask-runs/a-b$c/x", None)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["/tmp/runs"], "IAM policies are for buckets"),
        (["--read-only", "--write-only", "s3://b/p"], "choose one of"),
    ],
)
def test_what_cannot_be_a_policy_is_refused(words: list[str], why: str) -> None:
    done = CliRunner().invoke(policy, words)

    assert done.exit_code != 0
    assert why in f"{done.output}{done.exception}"
