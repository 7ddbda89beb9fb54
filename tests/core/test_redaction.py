"""No byte of a store holds a secret, wherever the run has had it."""

from __future__ import annotations

import json
import stat
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from dask_blackbox.capture.redaction import maskable_values, secret_values
from dask_blackbox.manifest import HostFact, Manifest
from dask_blackbox.recorder.redact import Redactor, scanner_shapes
from hypothesis import example, given
from hypothesis import strategies as st
from kept_recordings import SETS, recordings
from scenario_runs import (
    SCENARIOS,
    Home,
    ScenarioRun,
    begin_command,
    ended,
    every_byte,
    messages,
    run_scenario,
)
from secret_shapes import ASSIGNED, TOKENS
from stored_events import details

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
SECRETS = {
    "aws key": "AKIAZQ3DUMMYKEY4TEST",
    "aws secret": "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",
    "url password": "hunter-two-and-a-half",
    "bearer": "tok.en_value-0123456789abcdef",
    "json password": "correct-horse-battery",
    "badge": "4711081512",
    "token": "tkn-55aa55aa55aa",
    "config password": "pw-of-the-database",
    "config key": "key-of-the-service",
    "parameter": "pw-of-the-parameter",
    "environment variable": "only-the-environment-names-it",
    "task key": "AKIAZQ4INTHEKEYTEST2",
    "private key line": "MIIEowIBAAKCAQEAq9Xw7vJtUdkE0Y3Z8rLmq9Xw7vJtUdkE0Y3Z8rLmAAAABBBB",
    "private key end": "Uq9Xw7vJtUdkE0Y3Z8rLm==",
    "option": "the-value-of-an-option-17",
    "topic": "ghp_inATopicOfTheUsers0123456789abcd",
    **{f"assigned: {name}": f"v4lue-{i}-Xq" for i, name in enumerate(ASSIGNED)},
    **{f"token: {name}": token for name, token in TOKENS.items()},
}
COMPUTE_FAILED = "Compute Failed\nKey:       x\nState:     executing\nTask:  <Task 'x'"
AFTER = "\nException: \"ValueError('no')\""


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    store = str(home.folder / "store")
    return run_scenario(
        home,
        "secrets_everywhere.py",
        store,
        SECRETS=json.dumps(SECRETS),
        SHAPES=json.dumps(ASSIGNED),
        SERVICE_API_KEY=SECRETS["environment variable"],
    )


@pytest.fixture(scope="module")
def stored(finished: ScenarioRun) -> bytes:
    return every_byte(finished.home.folder / "store")


@pytest.mark.parametrize("which", SECRETS)
def test_a_secret_is_nowhere_in_the_store(stored: bytes, which: str) -> None:
    assert SECRETS[which].encode() not in stored


@pytest.mark.parametrize("which", SECRETS)
def test_a_secret_is_not_on_the_card(finished: ScenarioRun, which: str) -> None:
    assert SECRETS[which] not in json.dumps(finished.reported["card"])


def test_arguments_of_a_failed_task_stay_on_the_cluster(stored: bytes) -> None:
    assert b"Compute Failed" in stored
    assert b"leak(\xe2\x80\xa6)" in stored  # in Parquet
    assert b"leak(\\u2026)" in stored  # in segments
    assert b"'badge':" not in stored


def test_the_users_own_exception_keeps_its_text(finished: ScenarioRun) -> None:
    assert all(
        SECRETS[which] in finished.reported["passed"] for which in ("token", "bearer")
    )


def test_what_surrounds_a_secret_is_kept(finished: ScenarioRun, stored: bytes) -> None:
    logs = finished.run.logs

    assert len(messages(logs, "postgresql://[redacted]@db.internal")) >= 4
    assert messages(logs, "key [redacted] was used")
    assert b"Authorization" in stored
    [driver] = [
        each
        for each in details(finished.run, "driver-attached")
        if "parameters" in each
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
        ("tokens: 12, max_tokens=512", "tokens: 12, max_tokens=512"),
        ("x.TokenizationError: Object f has no", "x.TokenizationError: Object f has no"),
        ("jwt.InvalidTokenError: it has expired", "jwt.InvalidTokenError: it has expired"),
        ("left for the next pass: [Errno 24] Too many open files",) * 2,
        ("pass: [hunter2], user=me", "pass: [redacted], user=me"),
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
        "functions": {"my.secrets:load": "secrets.py:load 12ab"},
        "config": {"packages": {"token": "abc"}},
    }

    assert Redactor().value(value) == value | {
        "config": {"packages": {"token": "[redacted]"}}
    }


def test_sources_are_texts() -> None:
    value = {"sources": {"my.secrets:load": "password = 's3cr3t-1'"}}

    assert Redactor().value(value) == {
        "sources": {"my.secrets:load": "password = [redacted]"}
    }


def test_a_sketch_holds_no_secret_either(finished: ScenarioRun, stored: bytes) -> None:
    assert b'"package/driver"' in stored  # its text was among what was searched
    assert list(Path(finished.home.folder / "store" / "sketches").rglob("*~failed~*"))


@given(
    template=st.sampled_from(sorted(ASSIGNED.values())),
    secret=st.text(
        string.ascii_letters + string.digits + "!#%*+-._~", min_size=8, max_size=60
    )
    .filter(lambda text: any(c.isdigit() for c in text))
    .filter(lambda text: any(c.isalpha() for c in text))
    # `-…` is the next option, and `***` has been masked by somebody before us.
    .filter(lambda text: text[0].isalnum() and text[-1].isalnum()),
    before=st.sampled_from(["", "2026-11-21 12:03:57 INFO job: ", "x = ", "("]),
    after=st.sampled_from(["", " and so on", "\nanother line"]),
)
@example(template=ASSIGNED["user and -p"], secret="000000.A", before="", after="")
@example(template=ASSIGNED["user and -p"], secret="1.2.3.4-a", before="", after="")
def test_no_assigned_secret_survives(
    template: str, secret: str, before: str, after: str
) -> None:
    clean = Redactor().text(before + template.format(secret) + after)

    assert secret not in clean
    assert "[redacted]" in clean


@pytest.mark.parametrize("which", TOKENS)
@pytest.mark.parametrize(
    "around", ["{}", "got {} back", "('{}', 3)", "https://h/?q={}&x", "a={};b"]
)
def test_a_token_is_known_by_its_shape(which: str, around: str) -> None:
    clean = Redactor().text(around.format(TOKENS[which]))

    assert clean == around.format("[redacted]")


@pytest.mark.parametrize(
    "text",
    [
        "git clone https://{}@github.com/x/y",
        "SENTRY https://{}@o1.ingest.sentry.io/1",
        "https://maps.example.org/v1?key={}",
        "https://maps.example.org/v1?q=1&key={}&x=2",
    ],
)
def test_a_long_token_in_a_url_is_a_secret(text: str) -> None:
    token = "0a1B2c3D4e5F6g7H8i9J0k1L"

    assert Redactor().text(text.format(token)) == text.format("[redacted]")
    assert Redactor().text(f"https://{token}:x-oauth-basic@h") == "https://[redacted]@h"


@pytest.mark.parametrize(
    "text",
    [
        "ssh://deploy-2@host.example.org/x",
        "s3://bucket/prefix?key=part-0001.parquet",
        "connect to tcp://10.0.0.1:8786 as user/group",
        "python job.py -u 2 -p 8080",
        "docker run -u 1000 -p 8787:8787 image",
        "docker run -u 1000 -p 127.0.0.1:8786-8787:8786-8787/tcp image",
        "echo done | tee log",
    ],
)
def test_what_only_resembles_a_login_is_kept(text: str) -> None:
    assert Redactor().text(text) == text


def test_a_known_value_is_masked_in_every_form() -> None:
    redactor = Redactor(values=['pa"ss wörd/7', "mint"])

    assert redactor.text('it is pa"ss wörd/7') == "it is [redacted]"
    assert redactor.text(json.dumps({"x": 'pa"ss wörd/7'})) == '{"x": "[redacted]"}'
    assert redactor.text("u=pa%22ss%20w%C3%B6rd%2F7&v=1") == "u=[redacted]&v=1"
    assert redactor.text("mint of memory") == "mint of memory"


def test_passwords_of_example_deployments_leave_ordinary_text_alone() -> None:
    url = "postgresql+psycopg2://airflow:airflow@postgres/airflow"

    values = maskable_values(
        secret_values({"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url})
    )

    assert Redactor(values=values).text("airflow.sdk 3.3.2") == "airflow.sdk 3.3.2"
    assert "airflow:airflow" not in Redactor(values=values).text(url)


def test_a_switch_under_a_secret_name_leaves_ordinary_text_alone() -> None:
    switch = {"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False"}

    values = maskable_values(secret_values(switch))

    assert Redactor(values=values).text("processes=False") == "processes=False"


def test_a_run_is_found_by_its_ids_though_a_password_be_the_same_word() -> None:
    host: dict[str, HostFact] = {
        "kind": "airflow",
        "dag_id": "analytics",
        "task_id": "load",
        "map_index": -1,
        "url": "https://airflow.example/dags/analytics",
        "password": "another",
    }
    manifest = Manifest(
        recording="r", job="analytics.load", run_id="one", attempt=1, started=0.0,
        host=host,
    )  # fmt: skip

    clean = Redactor(values=["analytics", "airflow"]).manifest(manifest)

    assert clean.host == {
        **host,
        "url": "https://airflow.example/dags/[redacted]",
        "password": "[redacted]",
    }


def test_a_private_key_that_is_printed_line_by_line_is_nowhere() -> None:
    lines = [
        "-----BEGIN RSA PRIVATE KEY-----",
        SECRETS["private key line"],
        "INFO job: " + SECRETS["private key line"],
        SECRETS["private key end"],
        "-----END RSA PRIVATE KEY-----",
        "the next sentence",
    ]
    rows = [
        [float(i), "worker", "tcp://a", 1, i, "stdout", 20, line, None]
        for i, line in enumerate(lines)
    ]

    assert [row[7] for row in Redactor().rows("log", rows)] == [
        "[redacted]",
        "[redacted]",
        "INFO job: [redacted]",
        "[redacted]",
        "[redacted]",
        "the next sentence",
    ]


def test_the_users_patterns_apply_to_keys_of_tasks() -> None:
    row = ["load-4711", "load-4711", "load", "tcp://a", 1, 0.0, 1.0, 1, 0, 0, 0, 8, "int", "finished"]  # fmt: skip
    [clean] = Redactor([r"4711"]).rows("task", [row])

    assert clean[:2] == ["load-[redacted]", "load-[redacted]"]


def test_the_rules_of_the_scanner_are_there() -> None:
    assert len(scanner_shapes()) > 25


def test_ordinary_logs_lose_nothing() -> None:
    """False positives, on all log lines, errors and keys of the kept recordings."""
    redactor, texts, changed = Redactor(), 0, []
    for each in SETS:
        for run in recordings(each).values():
            for text in {
                *run.logs["message"].drop_nulls(),
                *run.errors["message"].drop_nulls(),
                *run.tasks["key"].head(500),
            }:
                texts += 1
                clean = redactor.text(text)
                if "[redacted]" in clean and "[redacted]" not in text:
                    changed.append((text, clean))

    assert texts > 15_000
    assert changed == []


def test_a_local_store_is_for_its_owner_only(finished: ScenarioRun) -> None:
    store = Path(finished.home.folder / "store")
    modes = {
        stat.S_IMODE(each.stat().st_mode) & 0o077 for each in (store, *store.rglob("*"))
    }

    assert modes == {0}


def test_a_store_of_this_test_is_not_empty(
    finished: ScenarioRun, stored: bytes
) -> None:
    assert b"leak_and_die" in stored
    assert len(list(Path(finished.home.folder / "store").rglob("*.seg"))) >= 1


ODD = {
    "client name": "AKIAZQ5CLIENTNAMETES",
    "job": "AKIAZQ6THENAMEOFAJOB",
    "run id": "AKIAZQ7THEIDOFARUNTE",
    "parameter": "pw-in-a-list-of-parameters-8",
    "span": "AKIAZQ8THENAMEOFASPN",
    "argument": "pw-as-an-argument-9",
    "nested argument": "pw-deep-in-an-argument-10",
    "attribute": "key-as-an-attribute-11",
    "key": "AKIAZQ9INTHEKEYOFKEE",
}
IN_THE_SOURCE = "ghp_inTheSourceTextOfAFunction0123456789"
PLANTED = {
    **{f"assigned: {name}": f"v4lue-{i}-Yz" for i, name in enumerate(ASSIGNED)},
    **{f"token: {name}": token for name, token in TOKENS.items()},
}


@pytest.fixture(scope="module")
def odd(homes: Callable[[], Home]) -> tuple[ScenarioRun, bytes]:
    """Return a run with secrets in odd places, and every byte of its store."""
    home = homes()
    sentences = [
        *(ASSIGNED[n].format(PLANTED[f"assigned: {n}"]) for n in ASSIGNED),
        *(f"got {token} back" for token in TOKENS.values()),
    ]
    finished = run_scenario(
        home,
        "secrets_in_odd_places.py",
        str(home.folder / "store"),
        SECRETS=json.dumps(ODD),
        SENTENCES=json.dumps(sentences),
    )
    return finished, every_byte(home.folder / "store")


@pytest.mark.parametrize("which", ODD)
def test_a_secret_in_an_odd_place_is_nowhere(
    odd: tuple[ScenarioRun, bytes], which: str
) -> None:
    assert ODD[which].encode() not in odd[1]


@pytest.mark.parametrize("which", PLANTED)
def test_a_secret_in_kept_inputs_notes_and_parameters_is_nowhere(
    odd: tuple[ScenarioRun, bytes], which: str
) -> None:
    assert PLANTED[which].encode() not in odd[1]


def test_the_source_of_a_function_is_recorded_without_its_token(
    odd: tuple[ScenarioRun, bytes],
) -> None:
    assert b"def source_with_a_constant" in odd[1]
    assert IN_THE_SOURCE.encode() not in odd[1]


def test_the_inputs_that_were_searched_are_there(
    odd: tuple[ScenarioRun, bytes],
) -> None:
    finished, found = odd

    assert list((finished.home.folder / "store").rglob("*.bundle")) != []
    assert b"it failed" in found


def test_the_shapes_are_published() -> None:
    page = (ROOT / "docs" / "privacy.md").read_text("utf-8")
    texts = {
        name: template.replace("|", "\\|").format("SECRET")
        for name, template in ASSIGNED.items()
    }

    missing = [name for name in texts if f"| {name} | `{texts[name]}` |" not in page]
    assert missing == []
    assert f"masked in any place: {', '.join(TOKENS)}.\n" in page


LATER = {
    "in a URL": "plum walrus tango",
    "before": "ochre lantern fig",
    "after": "quince-harbour-moth",
    "on a worker": "velvet onion ladder",
}


@pytest.fixture(scope="module")
def later(homes: Callable[[], Home]) -> tuple[ScenarioRun, bytes]:
    """Return a run whose secrets become known while it runs, and every byte of its store."""
    home = homes()
    finished = run_scenario(
        home,
        "secrets_loaded_later.py",
        str(home.folder / "store"),
        PLANTED=json.dumps(LATER),
        AIRFLOW_CONN_WAREHOUSE=f"postgres://etl:{quote(LATER['in a URL'])}@db/prod",
    )
    return finished, every_byte(home.folder / "store")


@pytest.mark.parametrize("which", LATER)
def test_a_secret_that_becomes_known_during_the_run_is_masked(
    later: tuple[ScenarioRun, bytes], which: str
) -> None:
    assert LATER[which].encode() not in later[1]
    assert b"it is [redacted] here" in later[1]


def test_the_users_exception_keeps_a_masked_value(
    later: tuple[ScenarioRun, bytes],
) -> None:
    finished, _ = later

    assert finished.reported["passed"] == f"it was {LATER['on a worker']} there"
    assert "it was [redacted] there" in finished.card.to_json().decode()


@pytest.mark.nightly
def test_a_value_is_masked_in_rows_that_arrive_before_it(
    homes: Callable[[], Home],
) -> None:
    # The driver's connection is behind by thousands of lines; the scheduler's is not.
    home, secret = homes(), "plum walrus tango"
    store = home.folder / "store"
    run_scenario(home, "secrets_behind_many_lines.py", str(store), PLANTED=secret)
    stored = every_byte(store)

    assert secret.encode() not in stored
    assert b"it is [redacted] here" in stored
    assert b"it was [redacted] there" in stored


def test_rows_that_were_written_before_a_value_was_masked_are_on_the_card(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    finished = run_scenario(
        home, "secret_after_a_long_call.py", store, PLANTED="plum walrus tango"
    )

    assert finished.card.state == "succeeded"
    missing = str(finished.card.completeness["missing"])
    assert "rows that were written in between may contain them" in missing


@pytest.mark.parametrize(
    ("setting", "secret"),
    [
        ("postgres://me:p%20w%2Fd%3D1@db:5432/x", "p w/d=1"),
        ("mysql://me@db/x?ssl=1&password=pa%24%24word", "pa$$word"),
        ('{"conn_type": "aws", "extra": {"api_key": "plain words"}}', "plain words"),
        ("host=db user=me password='two words' port=5432", "two words"),
        ("Server=db;Uid=me;Pwd=words;Encrypt=yes", "words"),
    ],
)
def test_secrets_inside_a_setting_are_known(setting: str, secret: str) -> None:
    assert secret in set(secret_values({"AIRFLOW_CONN_X": setting}))


@pytest.mark.parametrize(
    "setting",
    [
        "https://example.org/a?b=c",
        "{not json}",
        "-Xmx4g -Dfile=x -Dlog=y",
        "a=b;c=d",
        "",
    ],
)
def test_an_ordinary_setting_holds_no_secret(setting: str) -> None:
    assert list(secret_values({"ANYTHING": setting})) == []


def test_no_more_values_are_masked_than_can_be_searched_for() -> None:
    code = """
from dask_blackbox import mask_secret
mask_secret([f"value-{i:06}" for i in range(2_003)])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stderr == (
        "3 secret values are not masked in the recording, because at most 2000 are masked\n"
    )


@pytest.mark.nightly
def test_a_command_masks_what_its_driver_and_its_tasks_load(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    secrets = ["plum walrus tango", "ochre lantern fig"]
    command = [sys.executable, str(SCENARIOS / "secrets_of_a_command.py")]
    store = home.folder / "store"
    begun = begin_command(
        home,
        *("blackbox", "run", "--store", str(store), "--", *command),
        PLANTED=",".join(secrets),
    )
    finished = ended(home, begun)
    stored = every_byte(store)

    assert finished.code == 1
    assert secrets[1] in finished.errors
    assert [secret for secret in secrets if secret.encode() in stored] == []
    for message in (b"driver has", b"worker has", b"worker loads", b"cannot use"):
        assert message in stored


def test_the_names_of_an_events_fields_stay_though_a_secret_is_a_part_of_one() -> None:
    redactor = Redactor(values=["directory"])
    detail = json.dumps({"local_directory": "/scratch/directory", "nthreads": 2})

    [[*_, cleaned]] = redactor.rows("event", [[1.0, "worker-added", "w", detail]])

    assert json.loads(str(cleaned)) == {
        "local_directory": "/scratch/[redacted]",
        "nthreads": 2,
    }
