"""Managers that the recorder does not ask: clouds of dask-cloudprovider, and YARN.

To ask them needs a library and credentials of each.  So the report names the unit of each worker,
and where one was lost, the command that says why.  What YARN's application master says of
containers, the driver asks through its cluster object.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dask_blackbox.events import UnitState
from dask_blackbox.managers.base import Question


@dataclass(frozen=True, kw_only=True)
class UnaskedManager:
    """A manager that is not asked, as data.

    Attributes:
        name: As in `Manager`.
        kind: As in `Manager`.
        clusters: As in `Manager`.
        unit: As in `Manager`.
        cancel: As in `Manager`.
        tell: As in `Manager`.
        variable: As in `Manager`; empty: only its cluster objects name its units.
        fact: Empty: `identity` names no unit of it in which a driver runs.
        questions: None: it is not asked.
        pending: As in `Manager`.
        over: States of a unit that has ended.
        limit: Empty: its units have no time limit.
        asked: As in `Manager`.
    """

    name: str
    kind: str
    clusters: tuple[str, ...]
    unit: str
    cancel: str
    tell: str
    variable: str = ""
    fact: str = ""
    questions: tuple[Question, ...] = ()
    pending: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    limit: str = ""
    asked: bool = False

    def id_of(self, text: str) -> str:
        """Return the id: it is what names the unit."""
        return text

    def is_over(self, state: str) -> bool:
        """Return whether a unit in a state has ended for good."""
        return state in self.over

    def is_ending(self, state: str) -> bool:
        """Return that it is not known."""
        del state
        return False

    def is_group(self, unit: str) -> bool:
        """Return that none does: a cluster object names each."""
        del unit
        return False

    def logs(self, unit: str, folder: Path, state: UnitState | None) -> list[Path]:
        """Return no file: they are where its units ran."""
        del unit, folder, state
        return []


UNASKED = (
    UnaskedManager(
        name="Amazon EC2",
        kind="ec2",
        clusters=("EC2Cluster",),
        unit="instance",
        cancel="aws ec2 terminate-instances",
        tell="aws ec2 describe-instances --instance-ids INSTANCE",
    ),
    UnaskedManager(
        name="Amazon ECS",
        kind="ecs",
        clusters=("FargateCluster", "ECSCluster"),
        unit="task",
        cancel="aws ecs stop-task",
        tell="aws ecs describe-tasks --cluster CLUSTER --tasks TASK",
    ),
    UnaskedManager(
        name="Azure",
        kind="azure",
        clusters=("AzureVMCluster",),
        unit="virtual machine",
        cancel="az vm delete",
        tell="az vm get-instance-view --resource-group GROUP --name NAME",
    ),
    UnaskedManager(
        name="Google Compute Engine",
        kind="gce",
        clusters=("GCPCluster",),
        unit="instance",
        cancel="gcloud compute instances delete",
        tell="gcloud compute operations list --filter=targetLink:NAME",
    ),
    UnaskedManager(
        name="DigitalOcean",
        kind="digitalocean",
        clusters=("DropletCluster",),
        unit="droplet",
        cancel="doctl compute droplet delete",
        tell="doctl compute droplet actions DROPLET",
    ),
    UnaskedManager(
        name="Hetzner Cloud",
        kind="hetzner",
        clusters=("HetznerCluster",),
        unit="server",
        cancel="hcloud server delete",
        tell="hcloud server describe NAME",
    ),
    UnaskedManager(
        name="OpenStack",
        kind="openstack",
        clusters=("OpenStackCluster",),
        unit="server",
        cancel="openstack server delete",
        tell="openstack server event list SERVER",
    ),
    UnaskedManager(
        name="YARN",
        kind="yarn",
        clusters=("YarnCluster",),
        unit="container",
        variable="CONTAINER_ID",
        pending=("WAITING", "REQUESTED"),
        over=("SUCCEEDED", "FAILED", "KILLED"),
        cancel="yarn application -kill",
        tell="yarn container -status CONTAINER",
    ),
)
"""Those whose units are named by worker objects, or by YARN in the environment of each worker."""
