"""A real Slurm on one host: munge, the controller, and several nodes, in a folder of their own.

It needs Debian's packages `slurm-wlm` and `munge` (tried with 22.05), and no accounts.
Jobs of the partition `urgent` preempt those of `work`, which is the default; `closed` is down.
The memory of jobs is limited by Slurm's own accounting, or by cgroups (version 1) on one node,
where the kernel kills a process and the job continues.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

from conditions import until

NODES = ("node1", "node2", "node3")
_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_CONFIGURATION = """\
ClusterName=nightly
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPort={controller}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherFrequency=1
{limits}
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
MinJobAge=300
KillWait=5
SlurmdParameters=config_overrides
{nodes}
PartitionName=work Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
PartitionName=closed Nodes=ALL MaxTime=INFINITE State=DOWN
"""


_BY_ACCOUNTING = """\
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill
"""
_BY_CGROUPS = """\
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
"""
_CGROUPS = """\
CgroupPlugin=cgroup/v1
ConstrainRAMSpace=yes
"""
_CONTROLLERS = ("memory", "freezer")


class Slurm(NamedTuple):
    """A Slurm that runs.

    Attributes:
        folder: Of its files.
        environ: The environment in which its commands ask it.
        names: Of its nodes.
    """

    folder: Path
    environ: dict[str, str]
    names: tuple[str, ...] = NODES

    def ask(self, *command: str) -> str:
        """Return what one of its commands prints."""
        done = subprocess.run(
            command, env=self.environ, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def nodes(self) -> list[str]:
        """Return the state of each node; none while the controller does not answer."""
        try:
            return self.ask(
                "sinfo", "--noheader", "--Node", "-p", "work", "-o", "%t"
            ).split()
        except subprocess.CalledProcessError:
            return []

    def jobs(self, state: str = "all") -> list[str]:
        """Return the ids of the jobs that are in a state."""
        return self.ask("squeue", "--noheader", f"--states={state}", "-o", "%i").split()

    def node_of(self, job: str) -> str:
        """Return the node that a job runs on."""
        return self.ask(
            "squeue", "--noheader", "--states=all", f"--jobs={job}", "-o", "%N"
        )

    def end_jobs(self) -> None:
        """Cancel all jobs, wait for their ends, and bring back the nodes."""
        alive = "pending,running,completing,suspended"
        if left := self.jobs(alive):
            self.ask("scancel", *left)
        until(lambda: not self.jobs(alive), "the ends of jobs", interval=0.2)
        for name, state in zip(self.names, self.nodes(), strict=True):
            if state.startswith(("down", "drain", "drng")):
                self.ask("scontrol", "update", f"nodename={name}", "state=resume")
        until(lambda: set(self.nodes()) == {"idle"}, "the nodes", describe=self.logs)

    def logs(self) -> str:
        """Return the last lines of its logs."""
        ends = (
            f"{file.name}:\n"
            + "\n".join(file.read_text("utf-8", "replace").splitlines()[-20:])
            for file in sorted((*self.folder.glob("*.log"), *self.folder.glob("*.out")))
        )
        return "\n".join(ends)


def missing_programs() -> list[str]:
    """Return which programs this host lacks."""
    return [each for each in _PROGRAMS if not shutil.which(each, path=_PATH)]


def missing_cgroups() -> list[str]:
    """Return which controllers of version 1 this user cannot make cgroups of."""
    root = Path("/sys/fs/cgroup")
    return [
        each
        for each in _CONTROLLERS
        if not (root / each / "cgroup.procs").exists()
        or not os.access(root / each, os.W_OK)
    ]


@contextmanager
def slurm(folder: Path, *, cgroups: bool = False) -> Iterator[Slurm]:
    """Start Slurm, and stop it with all of its jobs.

    Args:
        folder: Of its files.
        cgroups: Limit the memory of jobs by them, on one node.
    """
    names = NODES[:1] if cgroups else NODES
    ports = _free_ports(len(names) + 1)
    host = socket.gethostname().partition(".")[0]
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 "
        "RealMemory=8000 State=UNKNOWN"
        for name, port in zip(names, ports[1:], strict=True)
    )
    text = _CONFIGURATION.format(
        host=host,
        user=getpass.getuser(),
        folder=folder,
        controller=ports[0],
        nodes=nodes,
        limits=_BY_CGROUPS if cgroups else _BY_ACCOUNTING,
    )
    (folder / "slurm.conf").write_text(text)
    (folder / "cgroup.conf").write_text(_CGROUPS if cgroups else "")
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    started = Slurm(
        folder,
        os.environ | {"PATH": _PATH, "SLURM_CONF": str(folder / "slurm.conf")},
        names,
    )
    with ExitStack() as stack:
        if cgroups:
            stack.callback(_remove_cgroups, names)
        # It refuses folders below one that all may write to, unless it is forced.
        _start(
            started, stack, "munged", "--foreground", "--force",
            f"--key-file={key}", f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log",
            f"--seed-file={folder}/munge.seed",
        )  # fmt: skip
        until((folder / "munge.socket").exists, "munge", describe=started.logs)
        _start(started, stack, "slurmctld", "-D")
        for name in names:
            _start(started, stack, "slurmd", "-D", "-N", name)
        until(
            lambda: started.nodes() == ["idle"] * len(names),
            "the nodes of Slurm",
            interval=0.2,
            describe=started.logs,
        )
        stack.callback(started.end_jobs)
        yield started


def _remove_cgroups(names: Iterable[str]) -> None:
    """Remove the cgroups that Slurm leaves behind, which are empty."""
    for controller, name in product(_CONTROLLERS, names):
        root = Path("/sys/fs/cgroup") / controller / f"slurm_{name}"
        folders = [each for each in root.rglob("*") if each.is_dir()]
        for each in [*sorted(folders, reverse=True), root]:
            with suppress(OSError):
                each.rmdir()


def _start(slurm: Slurm, stack: ExitStack, *command: str) -> None:
    output = slurm.folder / f"{command[0]}-{command[-1].strip('-')[:8]}.out"
    running = subprocess.Popen(
        command,
        env=slurm.environ,
        stdin=subprocess.DEVNULL,
        stdout=stack.enter_context(output.open("wb")),
        stderr=subprocess.STDOUT,
    )
    stack.callback(running.wait, 60)
    stack.callback(running.terminate)


def _free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
