"""Verdicts on what could not travel: results, connections with TLS, shuffles.

The texts are those that Dask wrote when such runs were recorded on real clusters.
"""

from __future__ import annotations

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    START,
    Piece,
    a_failed_task,
    a_graph,
    a_log_line,
    a_run,
    a_task,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    succeeded,
    the_verdict,
    the_verdict_on,
)

SITE = "/venv/lib/python3.12/site-packages"
READING = f"""Traceback (most recent call last):
  File "/jobs/nightly.py", line 12, in main
    client.submit(lock).result()
  File "{SITE}/distributed/client.py", line 431, in result
    return self.client.sync(self._result)
  File "{SITE}/distributed/core.py", line 982, in send_recv
    response = await comm.read(deserializers=deserializers)
  File "{SITE}/distributed/protocol/core.py", line 175, in loads
    return msgpack.loads(
  File "msgpack/_unpacker.pyx", line 194, in msgpack._cmsgpack.unpackb
"""
REFUSED = (
    "Could not serialize object of type lock\nTraceback (most recent call last):\n"
    f'  File "{SITE}/distributed/protocol/pickle.py", line 63, in dumps\n'
    "    result = pickle.dumps(x)\nTypeError: cannot pickle '_thread.lock' object\n"
)


def a_result_that_stayed(message: str = REFUSED, name: str = "TypeError") -> Piece:
    """Return the end of a driver that could not read what a worker sent."""
    shown = f"{READING}{name}: {message}"
    return failed_with(an_exception(name, message, traceback=shown))


# Results


def test_what_cannot_be_pickled_inside_of_a_result_is_reported_with_what_holds_it() -> (
    None
):
    held = a_task("open-1", typename="dict")
    found = the_verdict_on(a_worker(), a_graph(), held, a_result_that_stayed())

    assert found.subject.key == "open-1"
    assert "(lock inside a dict)" in found.title
    assert "'open-1', or a similar task, finished" in found.cause


def test_a_result_that_the_driver_cannot_read_is_reported_apart_from_a_tasks_error() -> (
    None
):
    missing = "No module named 'models'"
    found = the_verdict_on(
        a_worker(), a_graph(), a_result_that_stayed(missing, "ModuleNotFoundError")
    )

    assert found.rule == "result-not-serializable"
    assert found.retry_advice == "environment"
    assert "the driver's environment" in found.remedy


def test_the_same_words_from_a_task_are_the_tasks() -> None:
    key = "save-1"
    error = an_exception(
        "TypeError", REFUSED, traceback=f"{READING}TypeError: {REFUSED}"
    )
    found = the_verdict_on(
        a_worker(),
        a_failed_task(key, "TypeError", REFUSED),
        failed_with(error),
    )

    assert (found.rule, found.subject.key) == ("task-exception", key)


# TLS


CONNECTING = f"""Traceback (most recent call last):
  File "/jobs/nightly.py", line 12, in main
    client = Client(address, security=security)
  File "{SITE}/distributed/client.py", line 1500, in _ensure_connected
    comm = await connect(address)
  File "{SITE}/distributed/comm/tcp.py", line 562, in connect
"""


def could_not_connect(
    name: str, message: str, cause: str = "", root: str = ""
) -> Piece:
    """Return the end of a driver that never reached a scheduler."""
    text = f"{cause}\nThe above exception was the direct cause of the following exception:\n"
    trace = f"{text if cause else ''}{CONNECTING}{name}: {message}"
    return failed_with(
        an_exception(name, message, traceback=trace, chain=[root] if root else [])
    )


def test_a_refused_client_after_an_earlier_cluster_is_not_a_lost_scheduler() -> None:
    refused = could_not_connect(
        "distributed.comm.core.FatalCommClosedError",
        "TLS certificate does not match. Check your security settings.",
        "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate "
        "verify failed: self-signed certificate (_ssl.c:1006)",
        "ssl.SSLCertVerificationError",
    )
    closing = an_event("scheduler-closing", "tcp://s", at=25, reason="terminate")
    run = a_run(a_worker(), a_graph(), a_task(), refused, closing)
    found = the_verdict(run)
    assert found.rule == "tls-misconfigured"
    assert "self-signed certificate" in found.title


@pytest.mark.parametrize(
    ("end", "shown", "sure"),
    [
        (
            could_not_connect(
                "distributed.comm.core.FatalCommClosedError",
                "TLS certificate does not match. Check your security settings.",
                "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate "
                "verify failed: certificate has expired (_ssl.c:1006)",
                "ssl.SSLCertVerificationError",
            ),
            "certificate is not trusted: certificate has expired",
            "high",
        ),
        (
            could_not_connect(
                "distributed.comm.core.FatalCommClosedError", "",
                "ssl.SSLError: [SSL: WRONG_VERSION_NUMBER] wrong version number",
                "ssl.SSLError",
            ),
            "The driver uses TLS, and the scheduler does not",
            "high",
        ),
        (  # the scheduler was faster with its greeting than the handshake
            could_not_connect(
                "ValueError", "IOStream is not idle; cannot convert to SSL",
                "ValueError: IOStream is not idle; cannot convert to SSL", "ValueError",
            ),
            "The driver uses TLS, and the scheduler does not",
            "high",
        ),
        (
            could_not_connect(
                "distributed.comm.core.CommClosedError",
                "in <TLS (closed)>: SSLEOFError: EOF occurred in violation of protocol",
                root="ssl.SSLEOFError",
            ),
            "did not accept the driver's certificate",
            "high",
        ),
        (
            could_not_connect(
                "distributed.comm.core.CommClosedError",
                "in <TCP (closed)>: ConnectionResetError: [Errno 104] Connection reset",
                root="ConnectionResetError",
            ),
            "was closed before the handshake",
            "low",
        ),
        (
            could_not_connect(
                "distributed.comm.core.CommClosedError",
                "in <TLS (closed)>: SSLError: tlsv1 alert protocol version",
                "ssl.SSLError: [SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert",
                "ssl.SSLError",
            ),
            "no TLS version in common",
            "high",
        ),
        (
            could_not_connect(
                "TypeError",
                "TLS expects a `ssl_context` argument of type ssl.SSLContext "
                "(perhaps check your TLS configuration?)  Instead got None",
            ),
            "has no certificates",
            "high",
        ),
    ],
    ids=["expired", "plain scheduler", "plain and fast", "not accepted", "plain driver", "versions", "no security"],
)  # fmt: skip
def test_what_the_two_ends_do_not_agree_on_is_reported(
    end: Piece, shown: str, sure: str
) -> None:
    found = the_verdict_on(end, recorded=False)

    assert (found.rule, found.confidence) == ("tls-misconfigured", sure)
    assert shown in found.title
    assert found.retry_advice == "environment"


def test_a_key_that_does_not_belong_to_its_certificate_is_the_drivers_own() -> None:
    shown = "[X509: KEY_VALUES_MISMATCH] key values mismatch (_ssl.c:3926)"
    trace = (
        'Traceback:\n  File "/jobs/nightly.py", line 12, in main\n    Client(security=s)\n'
        f'  File "{SITE}/distributed/security.py", line 277, in _get_tls_context\n'
        f"ssl.SSLError: {shown}"
    )
    found = the_verdict_on(
        failed_with(an_exception("ssl.SSLError", shown, traceback=trace)),
        recorded=False,
    )

    assert (found.rule, found.confidence) == ("tls-misconfigured", "high")
    assert "key values mismatch" in found.title
    assert "`tls_client_key` does not belong" in found.remedy


def test_tls_of_another_user_is_the_drivers_own_trouble() -> None:
    error = an_exception(
        "ssl.SSLCertVerificationError",
        "certificate verify failed: self-signed certificate",
        traceback=f'Traceback:\n  File "{SITE}/urllib3/connection.py", line 1, in connect\n'
        "ssl.SSLCertVerificationError: certificate verify failed: self-signed certificate",
    )

    assert (
        the_verdict_on(a_worker(), a_graph(), failed_with(error)).rule
        == "driver-exception"
    )


def test_workers_that_fail_the_handshake_are_why_none_arrived() -> None:
    waited = an_exception(
        "distributed.exceptions.WorkerStartTimeoutError",
        "Only 0/2 workers arrived after 12",
    )
    handshake = a_log_line(
        "Listener on 'tls://10.0.0.1:8786': TLS handshake failed with remote "
        "'tls://10.0.0.2:41234': [SSL: TLSV1_ALERT_UNKNOWN_CA]",
        role="scheduler",
        source="scheduler",
        level=30,
    )

    assert the_verdict_on(handshake, failed_with(waited)).rule == "tls-misconfigured"
    assert the_verdict_on(failed_with(waited)).rule == "workers-never-arrived"
    came = the_verdict_on(a_worker(), handshake, failed_with(waited))
    assert came.rule == "workers-never-arrived"


# Shuffles


OUT_OF_DISK = (
    "P2P ran out of available disk space while temporarily storing transferred data. "
    "Please make sure that P2P has enough disk space available"
)
SHUFFLE = "6a6fda77fa701417ef15ba3f52d6202d"


def a_shuffle(*, pieces: int = 50, done: int = 20) -> list[Piece]:
    """Return a shuffle that had taken in some of its pieces when it failed."""
    key = f"('shuffle-transfer-{SHUFFLE}', 1)"
    graph = an_event(
        "graph-updated",
        "Client-1",
        at=2,
        graph=1,
        tasks=150,
        prefixes={"shuffle-transfer": pieces},
    )
    begun = a_log_line(
        f"Shuffle {SHUFFLE} initialized by task {key} executed on worker tcp://w1",
        role="scheduler", source="scheduler", level=30,
    )  # fmt: skip
    failed = an_event("p2p", at=8, message={"action": "p2p-failed", "shuffle": SHUFFLE})
    taken = []
    for number in range(done):
        row = list(a_task(f"shuffle-transfer-{number}")[1])
        row[1] = row[2] = "shuffle-transfer"
        taken.append(("task", tuple(row)))
    return [a_worker(), graph, begun, *taken, failed]


def failed_shuffle(name: str, message: str, traceback: str = "") -> list[Piece]:
    """Return the task and the driver that such an error ended."""
    row = a_failed_task("merge-1", name, message, traceback=traceback)
    return [row, failed_with(an_exception(name, message, traceback=traceback))]


@pytest.mark.parametrize(
    ("cluster", "offered"), [("LocalCluster", False), ("SLURMCluster", True)]
)
def test_more_disks_are_not_offered_where_workers_share_one(
    cluster: str, *, offered: bool
) -> None:
    name = "distributed.shuffle._exceptions.P2POutOfDiskError"
    attached = an_event("driver-attached", "driver", cluster={"kind": cluster})
    shown = a_log_line(OUT_OF_DISK, source="tcp://w1")
    pieces = [*a_shuffle(), shown, *failed_shuffle(name, OUT_OF_DISK)]
    found = the_verdict_on(attached, *pieces)

    assert found.rule == "p2p-out-of-disk"
    assert ("more workers, each with its own disk" in found.remedy) == offered


def test_a_full_disk_in_a_shuffle_is_named_with_how_much_more_it_takes() -> None:
    name = "distributed.shuffle._exceptions.P2POutOfDiskError"
    shown = a_log_line(OUT_OF_DISK, source="tcp://w1")
    found = the_verdict_on(*a_shuffle(), shown, *failed_shuffle(name, OUT_OF_DISK))

    assert (found.rule, found.confidence) == ("p2p-out-of-disk", "high")
    assert found.subject.worker == "tcp://w1"
    assert "20 of 50 pieces had been received" in found.cause
    assert "at least 2.5 times the space" in found.remedy
    assert "so use at least 3" in found.remedy


def test_a_failed_phase_is_reported_with_its_first_error_and_the_restarts() -> None:
    root = "KeyError: 'name'\n\nThe above exception was the direct cause of the following exception:\n\n"
    message = f"P2P {SHUFFLE} failed during transfer phase"
    again = [
        a_log_line(
            f"Shuffle {SHUFFLE} restarted due to stimulus 'handle-worker-cleanup-1'",
            role="scheduler", source="scheduler", level=30, seq=n,
        )
        for n in (2, 3)
    ]  # fmt: skip
    trace = f"Traceback:\n{root}Traceback:\nRuntimeError: {message}"
    found = the_verdict_on(
        *a_shuffle(), *again, *failed_shuffle("RuntimeError", message, trace)
    )

    assert (found.rule, found.confidence) == ("p2p-failed", "high")
    assert found.title == "A shuffle failed in its transfer phase: KeyError: 'name'"
    assert "restarted 2 times" in found.cause
    assert found.retry_advice == "data"


def test_pieces_of_an_earlier_shuffle_are_not_counted() -> None:
    pieces = a_shuffle(pieces=8, done=0)
    for n in range(11):  # the last eight are of the graph before
        of = SHUFFLE if n < 3 else "a268b0db329525d64e957093dd2a55c7"
        start = 3.0 if of == SHUFFLE else 0.0
        row = list(a_task(f"shuffle-transfer-{n}", start=start, compute=0.5)[1])
        row[0], row[1] = f"('shuffle-transfer-{of}', {n})", "shuffle-transfer"
        row[2] = row[1]
        pieces.append(("task", tuple(row)))
    message = f"P2P {SHUFFLE} failed during unpack phase"

    found = the_verdict_on(*pieces, *failed_shuffle("RuntimeError", message))

    assert "3 of 8 pieces had been received" in found.cause


def test_a_worker_that_left_in_the_middle_of_a_shuffle_makes_it_worth_a_retry() -> None:
    name = "distributed.shuffle._exceptions.P2PConsistencyError"
    trace = (
        "CommClosedError: in <TCP>\n\nThe above exception was the direct cause of the "
        f"following exception:\n\nTraceback:\n{name}: Worker tcp://w2 left"
    )
    found = the_verdict_on(
        *a_shuffle(), *failed_shuffle(name, "Worker tcp://w2 left", trace)
    )

    assert (found.rule, found.retry_advice) == ("p2p-failed", "transient")


def test_an_error_of_the_exchange_itself_is_the_shuffles() -> None:
    message = "Unable to merge: Field k has incompatible types: int64 vs large_string"
    trace = (
        f'Traceback:\n  File "{SITE}/distributed/shuffle/_arrow.py", line 35, in concat_tables\n'
        '    pa.concat_tables(tables)\n  File "pyarrow/error.pxi", line 92, in check_status\n'
        f"pyarrow.lib.ArrowTypeError: {message}"
    )
    found = the_verdict_on(
        *a_shuffle(), *failed_shuffle("pyarrow.lib.ArrowTypeError", message, trace)
    )

    assert (found.rule, found.confidence) == ("p2p-failed", "medium")
    assert "error.pxi" not in found.remedy


def test_a_users_error_in_a_run_with_shuffles_is_the_users() -> None:
    found = the_verdict_on(*a_shuffle(), *failed_shuffle("ValueError", "bad row"))

    assert found.rule == "task-exception"


def healthy() -> RunTables:
    """Return a run whose shuffle succeeded."""
    return a_run(*a_shuffle(done=50)[:-1], succeeded(at=6))


def test_a_healthy_shuffle_is_nobodys_business() -> None:
    about = [each.rule for each in findings_in(healthy())]
    assert [rule for rule in about if "shuffle" in rule or "p2p" in rule] == []


def test_an_exception_that_is_returned_and_cannot_be_read_is_named_with_its_task() -> (
    None
):
    refused = a_task("checked-13", typename="etl.BadRowError")
    message = "BadRowError.__init__() missing 1 required positional argument: 'reason'"
    pieces = a_worker(), a_graph(), a_task("inc-1"), refused
    found = the_verdict_on(*pieces, a_result_that_stayed(message))

    assert found.rule == "result-not-serializable"
    assert found.subject.key == "checked-13"
    assert "`super().__init__(…)`" in found.remedy


def test_a_line_that_fails_where_the_scheduler_reads_a_graph_is_named() -> None:
    unread = "Error during deserialization of the task graph. This frequently"
    reported = (
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.12/site-packages/distributed/scheduler.py", line 5, in u\n'
        "    expr = deserialize(header, frames)\n"
        '  File "/jobs/registry.py", line 9, in __setstate__\n'
        '    self.url = os.environ["REGISTRY_URL"]\n'
        "KeyError: 'REGISTRY_URL'\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 12, in main\n    scores.compute()\n'
        f"RuntimeError: {unread}\n"
    )
    error = an_exception(
        "RuntimeError", unread, chain=("KeyError",), traceback=reported
    )
    found = the_verdict_on(a_worker(), failed_with(error))

    assert found.rule == "graph-not-deserializable"
    assert "at /jobs/registry.py:9 in __setstate__" in found.cause
    assert found.remedy.startswith("Look at /jobs/registry.py:9")
    assert "environment lacks" in found.cause


def test_an_object_that_dask_could_write_and_not_read_again_is_named() -> None:
    """As in dask/dask#11215, which Dask refuses today where it names the tasks."""
    message = (
        "Object <__main__.Settings object at 0x7f68> cannot be deterministically hashed. This "
        "likely indicates that the object cannot be serialized deterministically."
    )
    unread = (
        "RecursionError: maximum recursion depth exceeded, at /jobs/nightly.py:15 in "
        "__getattr__"
    )
    error = msgspec.structs.replace(
        an_exception("dask.tokenize.TokenizationError", message),
        found={"unread": unread},
    )
    found = the_verdict_on(a_worker(), failed_with(error))

    assert (found.rule, found.confidence) == ("graph-not-serializable", "high")
    assert "a Settings can be pickled, and not unpickled" in found.title
    assert unread in found.cause
    assert found.remedy.startswith(
        "Look at /jobs/nightly.py:15: while an object is unp"
    )


def test_an_object_that_looks_for_what_it_lacks_cannot_be_unpickled_anywhere() -> None:
    """As in dask/dask#11215; Dask sends an exception that cannot be pickled as its text."""
    unread = "RuntimeError('Error during deserialization of the task graph.')"
    searches = (
        '  File "/jobs/settings.py", line 9, in __getattr__\n'
        "    return self._values[name]\n"
    )
    logged = (
        "Failed to deserialize\nTraceback (most recent call last):\n"
        '  File "/v/lib/python3.12/site-packages/distributed/protocol/pickle.py", line 5, in loads\n'
        f"    return pickle.loads(x)\n{3 * searches}  [Previous line repeated 971 more times]\n"
        "RecursionError: maximum recursion depth exceeded"
    )
    found = the_verdict_on(
        a_worker(),
        a_log_line(logged, role="scheduler", source="scheduler"),
        failed_with(an_exception("Exception", unread)),
    )

    assert found.rule == "graph-not-deserializable"
    assert "RecursionError" in found.title
    assert "at /jobs/settings.py:9 in __getattr__" in found.cause
    assert "environment" not in found.cause
    assert "must raise `AttributeError`" in found.remedy


@pytest.mark.parametrize(("scheduler", "same"), [(5, True), (6, False)])
def test_a_scheduler_in_the_drivers_process_has_no_other_environment(
    scheduler: int, *, same: bool
) -> None:
    unread = "Error during deserialization of the task graph. This frequently"
    error = an_exception("RuntimeError", unread)
    found = the_verdict_on(
        an_event("driver-attached", "driver", pid=5),
        an_event("scheduler-info", "tcp://s:8786", pid=scheduler),
        a_worker(),
        failed_with(error),
    )

    assert found.rule == "graph-not-deserializable"
    assert ("in the driver's own process" in found.cause) is same
    assert ("Install the same packages" in found.remedy) is not same


def test_a_task_that_failed_before_is_not_why_a_graph_could_not_be_pickled() -> None:
    reported = (
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.12/site-packages/distributed/client.py", line 7, in '
        "_graph_to_futures\n    expr = serialize(dsk)\n"
        "TypeError: cannot pickle 'sqlite3.Connection' object\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 62, in run_stage\n    dask.compute(*parts)\n'
        "TypeError: Could not serialize object of type _HLGExprSequence\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 64, in run_stage\n    raise PipelineError\n'
        "PipelineError: stage 'enrich' failed\n"
    )
    error = an_exception(
        "etl.PipelineError", "stage 'enrich' failed", chain=("TypeError",),
        traceback=reported,
    )  # fmt: skip
    caught = a_failed_task("probe-1", "FileNotFoundError", "/data/_SUCCESS", at=3)

    found = the_verdict_on(a_worker(), a_graph(), caught, failed_with(error))

    assert found.rule == "graph-not-serializable"
    assert "sqlite3.Connection" in found.title


def test_what_dask_refused_is_the_reason_though_the_clean_up_failed_too() -> None:
    reported = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 87, in publish\n    client.map(book.smooth)\n'
        '  File "/v/lib/python3.12/site-packages/distributed/client.py", line 7, in '
        "_graph_to_futures\n    expr = serialize(dsk)\n"
        "TypeError: cannot pickle 'sqlite3.Connection' object\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 92, in publish\n    os.replace(part, final)\n'
        "FileNotFoundError: curves.json.part\n"
    )
    error = an_exception(
        "FileNotFoundError", "curves.json.part", chain=("TypeError",),
        traceback=reported,
    )  # fmt: skip
    caught = a_failed_task("probe-1", "ConnectionError", "mill does not answer", at=3)

    found = the_verdict_on(a_worker(), a_graph(), caught, failed_with(error))

    assert found.rule == "graph-not-serializable"
    assert "then it raised FileNotFoundError" in found.evidence[0].text


def test_workers_that_do_not_trust_the_scheduler_are_why_nothing_could_be_scattered() -> (
    None
):
    waited = an_exception("TimeoutError", "No valid workers found")
    handshake = a_log_line(
        "Listener on 'tls://10.0.0.1:8786': TLS handshake failed with remote "
        "'tls://10.0.0.2:41234': [SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca",
        role="scheduler", source="scheduler", level=30,
    )  # fmt: skip

    found = the_verdict_on(handshake, failed_with(waited))

    assert (found.rule, found.confidence) == ("tls-misconfigured", "high")
    assert "do not trust the scheduler's certificate" in found.title


# Scheduler files


@pytest.mark.parametrize(
    ("written", "said", "remedy"),
    [
        (-86_400.0, "which was written 1 d 00 h before the run began", "Remove the"),
        (5.0, "which was written during the run", "Check that a scheduler runs at"),
    ],
)
def test_a_scheduler_file_of_before_is_named_where_nothing_listens(
    written: float, said: str, remedy: str
) -> None:
    file = {"path": "/jobs/scheduler.json", "written": START + written}
    call = an_event(
        "driver-call-failed", "driver", at=9.0, call="Client.start", pid=1,
        exception="OSError", identity="1", scheduler_file=file,
        message="Timed out trying to connect to tcp://10.0.0.1:8786 after 4 s",
    )  # fmt: skip
    error = msgspec.structs.replace(
        an_exception(
            "OSError",
            "Timed out trying to connect to tcp://10.0.0.1:8786 after 4 s",
            chain=["ConnectionRefusedError"],
        ),
        chain_ids=("1",),
    )
    found = the_verdict_on(call, failed_with(error), recorded=False)

    assert found.rule == "cannot-connect"
    assert found.title.endswith("tcp://10.0.0.1:8786, the address in scheduler.json")
    assert said in found.cause
    assert found.remedy.startswith(remedy)


def test_a_driver_that_waits_for_a_scheduler_file_is_named_with_it() -> None:
    blocked = an_event(
        "driver-blocked", "driver", at=15.0, pid=1, lasted=10.0,
        stack=['  File "/jobs/nightly.py", line 2, in <module>\n    Client()\n'],
        connecting=[
            {"address": None, "lasted": 10.0, "scheduler_file": {"path": "/jobs/s.json"}}
        ],
    )  # fmt: skip
    found = the_verdict_on(blocked, aborted(at=20.0, exit_code=-15), recorded=False)

    assert found.rule == "cannot-connect"
    assert found.title == (
        "The driver waited for the scheduler file /jobs/s.json, which did not exist"
    )


def test_a_scheduler_of_an_earlier_step_is_named_where_its_file_was_not_removed() -> (
    None
):
    address = "tcp://10.0.0.1:8786"
    text = f"Timed out trying to connect to {address} after 7 s"
    file = {"path": "/jobs/current.json", "written": START + 3}
    call = an_event(
        "driver-call-failed", "driver", at=19.0, call="Client.start", pid=1,
        exception="OSError", identity="1", scheduler_file=file, message=text,
    )  # fmt: skip
    shown = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 75, in start\n    Client(scheduler_file=f)\n'
        f'  File "{SITE}/distributed/client.py", line 1417, in start\n    sync()\n'
        f"OSError: {text}\n"
    )
    error = msgspec.structs.replace(
        an_exception(
            "OSError", text, chain=["ConnectionRefusedError"], traceback=shown
        ),
        chain_ids=("1",),
    )
    found = the_verdict_on(
        an_event("scheduler-info", address, at=1.0, pid=10), a_worker(), a_graph(),
        a_task(), call, failed_with(error),
    )  # fmt: skip

    assert (found.rule, found.confidence) == ("cannot-connect", "high")
    assert found.title.endswith(
        "that scheduler had ended, and current.json still named it"
    )


@pytest.mark.parametrize("started", [True, False], ids=["started", "did not start"])
def test_what_answers_in_place_of_a_scheduler_that_did_not_start_is_no_tls(
    *, started: bool
) -> None:
    closed = could_not_connect(
        "distributed.comm.core.CommClosedError",
        "in <TCP (closed)  local=tcp://127.0.0.1:1 remote=tcp://127.0.0.1:2>: Stream is closed",
        "tornado.iostream.StreamClosedError: Stream is closed",
        "tornado.iostream.StreamClosedError",
    )
    ended = [
        an_event(
            "program-failed", "driver", at=3.0, pid=1, program_pid=7, code=1,
            command="python -m dask scheduler --port 2",
        ),
        *(
            a_log_line(
                line, at=2.9, seq=n, role="driver", source="driver", logger="stderr"
            )
            for n, line in enumerate(
                (
                    "Traceback (most recent call last):",
                    f'  File "{SITE}/dask/__main__.py", line 7, in main',
                    "    run_cli()",
                    f'  File "{SITE}/distributed/cli/dask_scheduler.py", line 245, in main',
                    "    asyncio_run(run())",
                    "OSError: [Errno 98] Address already in use",
                )
            )
        ),
    ]  # fmt: skip
    found = the_verdict_on(*([] if started else ended), closed, recorded=False)

    expected = "tls-misconfigured" if started else "worker-start-failed"
    assert found.rule == expected
    if not started:
        assert "`python -m dask scheduler --port 2`" in found.cause
