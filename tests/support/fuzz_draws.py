"""What a round of the fuzzer does, drawn from a seed: which cluster, who, how, and when."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

__all__ = ["BEHIND_A_PROXY", "EXTERNAL", "OWN_SCHEDULER", "Round", "drawn"]

EXTERNAL = ("commands", "no-nanny", "nworkers", "dask-spec", "one-process", "elsewhere")
"""Clusters that don't hang on the driver."""

OWN_SCHEDULER = ("subprocess", "commands", "no-nanny", "nworkers", "dask-spec",
                 "one-process", "elsewhere")  # fmt: skip
"""Clusters whose scheduler is a process of its own."""

_INTERNAL = ("local", "local", "left open", "threads", "spec", "spec-in-process",
             "groups", "adaptive", "subprocess", "asynchronous")  # fmt: skip
_NANNIES = ("subprocess", "groups", "commands", "nworkers", "dask-spec")
_PROCESSES = ("local", "left open", "spec", "groups", "adaptive", "subprocess",
              "asynchronous", *EXTERNAL)  # fmt: skip
_DEADLY = ("SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGSEGV", "SIGABRT")
_FROZEN = ("SIGSTOP", "SIGSTOP", "SIGSTOP and SIGCONT")
_STORES = ("refused", "silence", "slow down", "access denied", "bucket gone",
           "upload reset")  # fmt: skip
_NETWORK = ("cut", "refused", "silent")
_CLOCK = ("forward", "back")
BEHIND_A_PROXY = ("commands", "no-nanny", "nworkers")
"""Clusters whose scheduler can be reached by way of a proxy."""
_BY_NETWORK_OR_CLOCK = 0.15
_WITH_A_SMALL_SPOOL = 0.15
_SPOOLS = ("spool deleted", "spool full", "temporary folder deleted")


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round.

    Attributes:
        seed: What it was drawn from.
        cluster: How the cluster is started.
        recorded: By whom: `with`, `run`, `record`, `preload`.
        work: What the driver does.
        victim: Who is hit; `nobody` now and then.
        how: By what.
        moment: From when: a phase of the driver's.
        after: Seconds after that.
        again: Seconds after which the same is done once more to another one; 0: never.
        failures: `distributed.scheduler.allowed-failures`.
        ttl: Seconds until the scheduler gives up who is silent; 0: minutes.
        s3: Whether the store is an S3 server.
        two: Whether the second half of the work has a client of its own.
        small_spool: Whether the spool is limited to 1 MiB.
    """

    seed: int
    cluster: str
    recorded: str
    work: str
    victim: str
    how: str
    moment: str
    after: float
    again: float
    failures: int
    ttl: int
    s3: bool
    two: bool
    small_spool: bool = False

    def __str__(self) -> str:
        more = f" +{self.again:.1f}" if self.again else ""
        more += f" ttl {self.ttl}" if self.ttl else ""
        more += " two" if self.two else ""
        more += " small spool" if self.small_spool else ""
        return (
            f"{self.victim} · {self.how} · {self.moment}+{self.after:.1f}{more} · "
            f"{self.cluster} · {self.recorded} · {self.work}"
            f"{' · s3' if self.s3 else ''} · failures {self.failures}"
        )


def drawn(seed: int) -> Round:
    """Draw a round."""
    # With dice of their own: published seeds keep victim, cluster and moment.
    dice = random.Random(f"small spool {seed}")
    small = dice.random() < _WITH_A_SMALL_SPOOL
    round_ = replace(_with_network_or_clock(seed), small_spool=small)
    if round_.victim != "recorder" or round_.how != "SIGKILL" or not small:
        return round_
    return replace(round_, again=dice.uniform(0.5, 4))


def _with_network_or_clock(seed: int) -> Round:
    round_ = _drawn(seed)
    dice = random.Random(f"network or clock {seed}")
    if dice.random() > _BY_NETWORK_OR_CLOCK or round_.victim in ("store", "spool"):
        return round_
    victim = dice.choice(("network", "clock"))
    cluster = dice.choice(BEHIND_A_PROXY)
    return replace(
        round_,
        cluster=cluster,
        recorded="with",
        victim=victim,
        how=dice.choice(_NETWORK if victim == "network" else _CLOCK),
        moment=dice.choice(("first", "first", "second", "between")),
        again=0.0,
        ttl=0,
    )


def _drawn(seed: int) -> Round:
    dice = random.Random(seed)
    recorded = dice.choice(("with",) * 5 + ("run", "run", "record", "preload"))
    if recorded in ("record", "preload"):
        # What is always on is in the scheduler that was started so.
        known = EXTERNAL if recorded == "record" else EXTERNAL[:-1]
        cluster = dice.choice(known)
    else:
        cluster = dice.choice(_INTERNAL + EXTERNAL)
    if cluster == "asynchronous":
        recorded = "with"
    victim = dice.choice(_victims(cluster, recorded))
    how = _how(dice, victim)
    moment = dice.choice(("first",) * 4 + ("second", "between", "connected", "over"))
    longest = {"first": 5.0, "second": 4.0, "over": 1.5}.get(moment, 2.0)
    return Round(
        seed=seed,
        cluster=cluster,
        recorded=recorded,
        work=dice.choice(("futures", "delayed", "array", "frame")),
        victim=victim,
        how=how,
        moment=moment,
        after=dice.uniform(0, longest),
        again=dice.choice((0.0, 0.0, 0.0, dice.uniform(0, 3))),
        failures=dice.choice((0, 0, 3)),
        ttl=dice.choice((0, 4)) if how.startswith("SIGSTOP") else 0,
        s3=victim == "store" or dice.random() < 0.15,
        two=dice.random() < 0.15
        and cluster != "asynchronous"
        and recorded != "preload",
    )


def _victims(cluster: str, recorded: str) -> list[str]:
    victims = ["driver", "driver", "recorder", "everything", "nobody"]
    victims += ["store", "spool"] if recorded in ("with", "run") else []
    if recorded == "with":
        victims += ["driver's group"]
    if recorded == "run":
        victims += ["runner"]
    if recorded == "record":
        victims += ["attacher"]
    if cluster in _PROCESSES:
        victims += ["worker"] * 5 + ["all workers"] * 2
    if cluster in _NANNIES:
        victims += ["nanny", "nanny", "nanny and worker", "all nannies"]
    if cluster in OWN_SCHEDULER:
        victims += ["scheduler"] * 4
    return victims


def _how(dice: random.Random, victim: str) -> str:
    if victim == "store":
        return dice.choice(_STORES)
    if victim == "spool":
        return dice.choice(_SPOOLS)
    if victim == "nobody":
        return "peace"
    if victim in ("everything", "nanny and worker", "recorder"):
        frozen = victim == "recorder" and dice.random() < 0.25
        return "SIGSTOP and SIGCONT" if frozen else "SIGKILL"
    return dice.choice(_DEADLY * 2 + _FROZEN)
