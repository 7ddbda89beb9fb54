"""Job queues beside Slurm: what their commands printed or are documented to print, as states."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from dask_blackbox.capture.process import named_units
from dask_blackbox.events import ManagerAsked, UnitState
from dask_blackbox.managers import (
    MANAGERS,
    Manager,
    manager_of_cluster,
    unit_named_in,
    unit_of_host,
)
from dask_blackbox.managers.asking import Asker, end_of_log
from dask_blackbox.managers.queues import (
    GRID_ENGINE,
    HTCONDOR,
    LSF,
    OAR,
    PBS,
    QUEUES,
    read_bjobs,
    read_condor,
    read_oarstat,
    read_qacct,
    read_qstat_json,
    read_qstat_xml,
)
from runs_from_rows import (
    START,
    Piece,
    a_departure,
    a_run,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    killed_worker,
    raised_in,
    the_verdict,
)

WORKER = "tcp://w1"

# What Grid Engine 8.1.9 printed, without what is not read.


def _job(number: int, inside: str) -> str:
    return (
        f"<element><JB_job_number>{number}</JB_job_number><JB_submission_time>1795960415"
        f"</JB_submission_time><JB_owner>root</JB_owner>{inside}</element>"
    )


def _asks_for(queue: str) -> str:
    return (
        "<JB_hard_queue_list><destin_ident_list><QR_name>"
        f"{queue}</QR_name></destin_ident_list></JB_hard_queue_list>"
    )


def _says(number: int, message: str) -> str:
    return (
        "<element><MES_job_number_list><ulong_sublist><ULNG_value>"
        f"{number}</ULNG_value></ulong_sublist></MES_job_number_list>"
        f"<MES_message>{message}</MES_message></element>"
    )


QSTAT = (
    "<?xml version='1.0'?><detailed_job_info><djob_info>"
    + _job(
        26,
        "<JB_hard_resource_list><qstat_l_requests><CE_name>h_rt</CE_name><CE_stringval>600"
        "</CE_stringval></qstat_l_requests><qstat_l_requests><CE_name>h_vmem</CE_name>"
        "<CE_stringval>4G</CE_stringval></qstat_l_requests></JB_hard_resource_list>"
        "<JB_ja_tasks><ulong_sublist><JAT_status>128</JAT_status><JAT_start_time>1795960416"
        "</JAT_start_time></ulong_sublist></JB_ja_tasks>",
    )
    + _job(27, _asks_for("closed.q"))
    + _job(28, "")
    + _job(29, "")
    + _job(
        30,
        "<JB_ja_tasks><ulong_sublist><JAT_message_list><ulong_sublist><QIM_message>"
        "11/29/2026 13:51:55 [0:3901]: unable to find shell &quot;/no/such/shell&quot;"
        "</QIM_message></ulong_sublist></JAT_message_list><JAT_start_time>0</JAT_start_time>"
        "</ulong_sublist></JB_ja_tasks>",
    )
    + "</djob_info><messages><element><SME_message_list>"
    + _says(
        27,
        "cannot run in queue &quot;all.q&quot; because it is not contained in its hard "
        "queue list (-q)",
    )
    + _says(
        28,
        "(-l mem_free=500G) cannot run at host &quot;localhost&quot; because it offers "
        "only hl:mem_free=19.921G",
    )
    + _says(30, "Job is in error state")
    + _says(29, "Job is in hold state")
    + "</SME_message_list><SME_global_message_list><element><MES_message>queue instance "
    "&quot;low.q@localhost&quot; dropped because it is temporarily not available"
    "</MES_message></element><element><MES_message>queue instance "
    "&quot;closed.q@localhost&quot; dropped because it is disabled</MES_message></element>"
    "</SME_global_message_list></element></messages></detailed_job_info>"
)

_ACCOUNT = """\
==============================================================
qname        all.q
hostname     localhost
owner        root
jobnumber    {job}
qsub_time    Sun Nov 29 13:51:54 2026
start_time   Sun Nov 29 13:51:54 2026
end_time     Sun Nov 29 13:{end} 2026
failed       {failed}
exit_status  {status}
ru_wallclock 9s
maxvmem      {used}
category     -q all.q{asked}
"""
_ENFORCED = "37  : qmaster enforced h_rt, h_cpu, or h_vmem limit"
_KILLED = "137                  (Killed)"


def account(
    job: int, failed: str = "0    ", status: str = "0", *,
    end: str = "52:03", used: str = "5.285MB", asked: str = "",
) -> str:  # fmt: skip
    """Return what `qacct` printed of a job."""
    return _ACCOUNT.format(
        job=job, failed=failed, status=status, end=end, used=used, asked=asked
    )


AT_H_RT = account(21, _ENFORCED, _KILLED, asked=" -l h_rt=8")
AT_H_VMEM = account(
    23, _ENFORCED, _KILLED, end="51:57", used="300.773MB", asked=" -l h_vmem=200M"
)
BY_QDEL = account(14, "100 : assumedly after job", _KILLED)


def test_grid_engine_says_which_jobs_wait_and_why() -> None:
    states = read_qstat_xml(QSTAT)

    assert {job: (each.state, each.reason) for job, each in states.items()} == {
        "26": ("running", ""),
        "27": (
            "pending",
            'queue instance "closed.q@localhost" dropped because it is disabled',
        ),
        "28": (
            "pending",
            (
                '(-l mem_free=500G) cannot run at host "localhost" because it offers only '
                "hl:mem_free=19.921G"
            ),
        ),
        "29": ("pending", "Job is in hold state"),
        "30": ("error", 'unable to find shell "/no/such/shell"'),
    }
    assert (states["26"].time_limit, states["26"].memory_limit) == (600, 2**32)
    assert (states["26"].requested, states["26"].started) == (1795960415, 1795960416)


def test_grid_engine_says_how_jobs_ended() -> None:
    lived_twice = account(21, "11  : before job", used="0.000B") + AT_H_RT
    states = read_qacct(lived_twice + AT_H_VMEM + BY_QDEL + account(16, status="3"))

    assert {
        job: (each.state, each.reason, each.exit_code, each.signal)
        for job, each in states.items()
    } == {
        "21": ("failed", _ENFORCED.replace("  :", ":"), 0, 9),
        "23": ("failed", _ENFORCED.replace("  :", ":"), 0, 9),
        "14": ("failed", "100: assumedly after job", 0, 9),
        "16": ("finished", "", 3, None),
    }
    assert states["21"].time_limit == 8
    assert (states["23"].memory_limit, states["23"].memory) == (
        200 * 2**20, int(300.773 * 2**20),
    )  # fmt: skip
    began, ended = states["21"].started, states["21"].ended
    assert began is not None
    assert ended == began + 9
    assert time.localtime(began)[:6] == (2026, 11, 29, 13, 51, 54)


# What the other queues are documented to print; none of them was tried.

PBS_JOBS = """{"timestamp": 1618432467, "pbs_version": "20.0.1", "Jobs": {
"1008.head": {"Job_Owner": "kim@head", "job_state": "F", "Exit_status": -29, "exec_host":
 "n1/0*2+n2/0*2", "ctime": "Wed Apr 14 23:34:17 2021", "qtime": "Wed Apr 14 23:34:17 2021",
 "stime": "Wed Apr 14 23:34:19 2021", "mtime": "Wed Apr 14 23:36:19 2021", "Error_Path":
 "head:/logs/w.e1008", "Resource_List": {"mem": "2gb", "walltime": "00:02:00"},
 "resources_used": {"mem": "12272kb", "walltime": "00:02:00"},
 "comment": "Job run at Wed Apr 14 at 23:34 on (n1:ncpus=2)+(n2:ncpus=2) and exceeded resource walltime"},
"1009.head": {"job_state": "Q", "comment":
 "Can Never Run: Insufficient amount of resource: ncpus (R: 64 A: 16 T: 16)"},
"1010.head": {"job_state": "F", "Exit_status": 271, "comment":
 "Job run at Wed Apr 14 at 23:34 on (n1:ncpus=1) and terminated"},
"1011.head": {"job_state": "F", "Exit_status": -27}}}"""
LSF_JOBS = """{"COMMAND": "bjobs", "JOBS": 2, "RECORDS": [
{"JOBID": "771278", "STAT": "EXIT", "USER": "kim", "EXEC_HOST": "4*n28", "SUBMIT_TIME":
 "Nov 23 10:16:26 2026", "START_TIME": "Nov 23 10:16:31 2026", "FINISH_TIME":
 "Nov 23 10:17:33 2026 L", "RUNTIMELIMIT": "1.0", "MEMLIMIT": "2 G", "MAX_MEM": "1.5 Gbytes",
 "EXIT_CODE": "140", "EXIT_REASON":
 "TERM_RUNLIMIT: job killed after reaching LSF run time limit", "PEND_REASON": "-",
 "ERROR_FILE": "/logs/worker-%J.err"},
{"JOBID": "771279", "STAT": "PEND", "PEND_REASON": "Not enough job slot(s);", "EXIT_CODE": "-",
 "START_TIME": "-", "FINISH_TIME": "-", "EXEC_HOST": "-"}]}"""
CONDOR_JOBS = """[
{"ClusterId": 12, "ProcId": 0, "JobStatus": 5, "HoldReason":
 "Error from slot1@n1: Job has gone over memory limit of 512 megabytes. Peak usage: 600 megabytes.",
 "Owner": "kim", "QDate": 1700000000, "JobCurrentStartDate": 1700000010, "EnteredCurrentStatus":
 1700000070, "RequestMemory": 512, "MemoryUsage": 600, "LastRemoteHost": "slot1@n1", "Iwd":
 "/home/kim", "Err": "logs/worker-12.0.err"},
{"ClusterId": 13, "ProcId": 0, "JobStatus": 3, "RemoveReason": "via condor_rm (by user zoe)"},
{"ClusterId": 14, "ProcId": 0, "JobStatus": 1, "RequestMemory": "ifthenelse(x, 1, 2)"},
{"ClusterId": 15, "ProcId": 0, "JobStatus": 4, "ExitCode": 127, "CompletionDate": 1700000070}
]"""
OAR_JOBS = """{"547": {"Job_Id": 547, "owner": "kim", "state": "Error", "walltime": 7200,
"submissionTime": 1245768250, "startTime": 1245768251, "stopTime": 1245775464, "exit_code": 9,
"assigned_network_address": ["liza-2"], "launchingDirectory": "/home/kim", "stderr_file":
"OAR.w.547.stderr", "message": "R=1", "events": [
{"type": "FRAG_JOB_REQUEST", "description": "User root requested to frag the job 547"},
{"type": "WALLTIME", "description": "[sarko] Job [547] from 1245768251 with 7200"}]},
"548": {"state": "Terminated", "events": [
{"type": "FRAG_JOB_REQUEST", "description": "User zoe requested to frag the job 548"}]},
"549": {"state": "Waiting", "message": "Cannot find enough resources which fit for the job"}}"""


def test_pbs_says_state_reason_limits_and_where_the_log_is() -> None:
    states = read_qstat_json(PBS_JOBS)
    at_limit, waits = states["1008"], states["1009"]

    assert at_limit.reason == "exceeded resource walltime JOB_EXEC_KILL_WALLTIME"
    assert (at_limit.state, at_limit.node, at_limit.user) == ("FINISHED", "n1", "kim")
    assert (at_limit.time_limit, at_limit.memory_limit) == (120, 2 * 2**30)
    assert (at_limit.memory, at_limit.log) == (12272 * 1024, "/logs/w.e1008")
    assert at_limit.started is not None
    assert at_limit.ended == at_limit.started + 120
    assert (waits.state, waits.ended) == ("QUEUED", None)
    assert waits.reason.startswith("Can Never Run: Insufficient amount")
    assert (states["1010"].signal, states["1010"].reason) == (15, "terminated")


def test_lsf_says_state_reason_limits_and_where_the_log_is() -> None:
    at_limit, waits = read_bjobs(LSF_JOBS).values()

    assert at_limit.reason.startswith("TERM_RUNLIMIT")
    assert (at_limit.node, at_limit.user, at_limit.signal) == ("n28", "kim", 12)
    assert (at_limit.time_limit, at_limit.memory_limit) == (60, 2 * 2**30)
    assert (at_limit.memory, at_limit.log) == (3 * 2**29, "/logs/worker-771278.err")
    assert at_limit.started is not None
    assert at_limit.ended == at_limit.started + 62
    assert (waits.state, waits.reason) == ("PEND", "Not enough job slot(s);")
    assert (waits.started, waits.exit_code, waits.node) == (None, None, "")


def test_condor_says_state_reason_limits_and_where_the_log_is() -> None:
    states = read_condor(CONDOR_JOBS)
    held = states["12.0"]

    assert (held.state, held.node, held.user) == ("HELD", "n1", "kim")
    assert (held.memory_limit, held.memory) == (512 * 2**20, 600 * 2**20)
    assert (held.started, held.ended) == (1700000010, 1700000070)
    assert held.log == "/home/kim/logs/worker-12.0.err"
    assert (states["13.0"].state, states["13.0"].by) == ("REMOVED", "zoe")
    assert (states["14.0"].state, states["14.0"].memory_limit) == ("IDLE", None)
    assert (states["15.0"].exit_code, states["15.0"].ended) == (127, 1700000070)


def test_oar_says_state_events_limits_and_where_the_log_is() -> None:
    at_limit, cancelled, waits = read_oarstat(OAR_JOBS).values()

    assert at_limit.reason.startswith("WALLTIME: [sarko] Job [547]")
    assert (at_limit.by, at_limit.node, at_limit.signal) == ("", "liza-2", 9)
    assert (at_limit.time_limit, at_limit.ended) == (7200, 1245775464)
    assert at_limit.log == "/home/kim/OAR.w.547.stderr"
    assert (cancelled.state, cancelled.by) == ("Terminated", "zoe")
    assert waits.reason.startswith("Cannot find enough resources")


@pytest.mark.parametrize(
    "read",
    [question.read for queue in QUEUES for question in queue.questions],
    ids=lambda read: read.__name__,
)
@pytest.mark.parametrize(
    "text", ["", "error: no such job\n", "[1, 2]", '{"Jobs": 3}', "<a>", "null", "{"]
)
def test_output_of_another_form_says_nothing(read: object, text: str) -> None:
    assert callable(read)
    assert read(text) == {}


# Which queue, and which job


@pytest.mark.parametrize(
    ("cluster", "variables", "host", "queue", "job"),
    [
        ("SGECluster", {"JOB_ID": "7", "SGE_TASK_ID": "undefined"}, "7", GRID_ENGINE, "7"),
        ("PBSCluster", {"PBS_JOBID": "7.head.site"}, "7.head.site", PBS, "7"),
        ("PBSCluster", {"PBS_JOBID": "7[2].head"}, "7[2].head", PBS, "7[2]"),
        ("LSFCluster", {"LSB_JOBID": "7"}, "7", LSF, "7"),
        ("OARCluster", {"OAR_JOB_ID": "7"}, "7", OAR, "7"),
        ("HTCondorCluster", {}, "7.0", HTCONDOR, "7.0"),
    ],
    ids=["sge", "pbs", "pbs-array", "lsf", "oar", "htcondor"],
)  # fmt: skip
def test_clusters_environments_and_hosts_name_their_queue(
    cluster: str, variables: dict[str, str], host: str, queue: Manager, job: str
) -> None:
    assert manager_of_cluster(cluster) is queue
    within = {"kind": "shell", "within": [{"kind": queue.kind, "job_id": host}]}
    assert unit_of_host(within) == (queue, job)
    if variables:
        assert unit_named_in(named_units(variables)) == (queue, job)


def test_a_variable_that_others_use_too_names_no_job() -> None:
    assert unit_named_in(named_units({"JOB_ID": "nightly"})) is None


@pytest.mark.parametrize("queue", QUEUES, ids=lambda queue: queue.kind)
def test_the_states_of_a_queue_are_either_waiting_lasting_or_over(
    queue: Manager,
) -> None:
    assert not any(queue.is_over(state) for state in queue.pending)
    assert not queue.is_over("")


@pytest.mark.parametrize("manager", MANAGERS, ids=lambda manager: manager.kind)
def test_every_manager_has_a_name_a_kind_and_cluster_objects_of_its_own(
    manager: Manager,
) -> None:
    others = [each for each in MANAGERS if each is not manager]
    assert manager.clusters
    assert not {manager.name, manager.kind} & {
        x for o in others for x in (o.name, o.kind)
    }


def test_the_log_of_a_job_is_found_by_its_number(tmp_path: Path) -> None:
    for name in (
        "dask-worker.o112",
        "dask-worker.o12",
        "worker-12.err",
        "worker-12.0.err",
    ):
        (tmp_path / name).write_text(f"{name}\n")

    found = {
        queue.kind: end_of_log(queue, job, tmp_path, None).lines
        for queue, job in (
            (GRID_ENGINE, "12"),
            (PBS, "12"),
            (LSF, "12"),
            (HTCONDOR, "12.0"),
        )
    }
    assert found == {
        "sge": ("dask-worker.o12",), "pbs": ("dask-worker.o12",),
        "lsf": ("worker-12.err",), "htcondor": ("worker-12.0.err",),
    }  # fmt: skip


def test_a_job_that_is_not_known_yet_is_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grid Engine accounts for a job some seconds after its end."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    for name, script in (
        ("qstat", "echo \"<?xml version='1.0'?><unknown_jobs/>\""),
        ("qacct", "echo 'error: job id 14 not found' >&2; exit 1"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    asker = Asker(GRID_ENGINE)
    for _ in range(3):
        events = list(asker.ask(["14"]))
        assert [(type(each), getattr(each, "error", "")) for each in events] == [
            (ManagerAsked, ""),
            (ManagerAsked, ""),
        ]
    (tmp_path / "account").write_text(BY_QDEL)
    (tmp_path / "qacct").write_text(f"#!/bin/sh\ncat {tmp_path}/account\n")

    [state] = [each for each in asker.ask(["14"]) if isinstance(each, UnitState)]
    assert state.reason == "100: assumedly after job"


# What is said of it


def ended(state: UnitState, cluster: str) -> list[Piece]:
    """Return a worker that ended with its job, and what its queue says of that."""
    facts = {
        name: getattr(state, name)
        for name in (
            "manager", "state", "reason", "node", "by", "time_limit", "memory_limit", "memory",
            "exit_code", "signal",
        )
    }  # fmt: skip
    lasted = (state.ended or 0) - (state.started or 0)
    times = {"started": START + 5 - lasted, "ended": START + 5}
    return [
        an_event("driver-attached", "driver", at=0.5, cluster={"kind": cluster}),
        an_event("units-named", at=1.0, cluster=cluster, units={"w-0": state.subject}),
        a_worker(WORKER, name="w-0"),
        *a_departure(WORKER, processing=["boom-1"], closing="signal-15"),
        an_event("manager-asked", at=6.0, manager=state.manager, command="x"),
        an_event("unit-state", state.subject, at=6.0, **facts, **times),
        *raised_in("boom-1", killed_worker("boom-1")),
    ]


@pytest.mark.parametrize(
    ("state", "cluster", "rule", "says"),
    [
        (read_qacct(AT_H_RT)["21"], "SGECluster", "worker-time-limit", "limit of 8.0 s of Grid"),
        (read_qacct(AT_H_VMEM)["23"], "SGECluster", "worker-job-memory", "limit of 200 MiB"),
        (read_qstat_json(PBS_JOBS)["1008"], "PBSCluster", "worker-time-limit", "PBS job 1008"),
        (read_qstat_json(PBS_JOBS)["1010"], "PBSCluster", "worker-cancelled", "`qdel`"),
        (read_qstat_json(PBS_JOBS)["1011"], "PBSCluster", "worker-job-memory", "PBS job 1011"),
        (read_bjobs(LSF_JOBS)["771278"], "LSFCluster", "worker-time-limit", "1 m 00 s of LSF"),
        (read_condor(CONDOR_JOBS)["12.0"], "HTCondorCluster", "worker-job-memory", "512 MiB"),
        (read_condor(CONDOR_JOBS)["13.0"], "HTCondorCluster", "worker-cancelled", "by zoe"),
        (read_oarstat(OAR_JOBS)["547"], "OARCluster", "worker-time-limit", "2 h 00 m"),
        (read_oarstat(OAR_JOBS)["548"], "OARCluster", "worker-cancelled", "by zoe"),
    ],
    ids=lambda value: f"{value.manager}-{value.subject}" if isinstance(value, UnitState) else "",
)  # fmt: skip
def test_what_the_queue_says_is_the_verdict(
    state: UnitState, cluster: str, rule: str, says: str
) -> None:
    found = the_verdict(a_run(ended(state, cluster)))

    assert (found.rule, found.confidence) == (rule, "high")
    assert says in f"{found.title} {found.cause} {found.remedy}"


def test_a_signal_that_grid_engine_cannot_explain_is_unknown() -> None:
    """After `qdel` it says the same as after `kill -9` from anywhere."""
    found = the_verdict(a_run(ended(read_qacct(BY_QDEL)["14"], "SGECluster")))

    assert (found.confidence, found.retry_advice) == ("medium", "unknown")
    assert (
        "why is unknown, because Grid Engine reports its job 14 as failed (100: "
        in found.cause
    )
    assert "`qacct -j JOBID` says it" in found.remedy


@pytest.mark.parametrize(
    ("job", "says", "retry"),
    [
        ("27", "because it is disabled", "environment"),
        ("28", "no host has as much of that as the jobs ask for", "unknown"),
        ("29", "the job is held", "environment"),
        ("30", "unable to find shell", "environment"),
    ],
)
def test_jobs_that_wait_are_why_workers_did_not_arrive(
    job: str, says: str, retry: str
) -> None:
    state = read_qstat_xml(QSTAT)[job]
    facts = {"manager": state.manager, "state": state.state, "reason": state.reason}
    cluster = {"kind": "SGECluster"}
    raised = an_exception(
        "WorkerStartTimeoutError", "Only 0/1 workers arrived after 30"
    )
    found = the_verdict(
        a_run(
            [
                an_event("scheduler-info", "tcp://s", at=0.4),
                an_event("driver-attached", "driver", at=0.5, cluster=cluster),
                an_event("units-named", at=1.0, cluster="SGECluster", units={"w": job}),
                an_event("unit-state", job, at=5.0, **facts),
                failed_with(raised),
            ]
        )
    )

    assert (found.rule, found.retry_advice) == ("workers-pending", retry)
    assert says in f"{found.title} {found.cause}"
    assert f"Grid Engine job {job} was pending" in found.title
