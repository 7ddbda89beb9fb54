"""Runs that were made slow on purpose: short, on a few workers, and what they cost.

python tests/recordings/slow_third.py [NAME …] [--store FOLDER] [--diagnose-only]
"""

from __future__ import annotations

import sys

import slow_jobs_third as t
from workload import Workload, main, with_fixed

__all__ = ["SLOW"]

_FOUR = {"n_workers": 4, "threads_per_worker": 1, "memory_limit": "1GiB"}
_FOUR_THREADS = {"n_workers": 1, "threads_per_worker": 4, "memory_limit": "4GiB"}
_IN_PROCESS = {"processes": False, "n_workers": 1, "threads_per_worker": 4}
_CROWD = {"n_workers": 2, "threads_per_worker": 4, "memory_limit": "2GiB"}
_TWO_OF_TWO = {"n_workers": 2, "threads_per_worker": 2, "memory_limit": "1GiB"}
_MANY = {"n_workers": 4, "threads_per_worker": 16, "memory_limit": "1GiB"}
_SMALL = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "500MiB"}
_THREADS_OF_THEIR_OWN = {
    f"distributed.nanny.pre-spawn-environ.{name}": 6
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
}
_MEMORY = ("spilling", "memory-near-limit", "overproduction", "chunks-too-large")

SLOW: dict[str, Workload] = with_fixed(
    {
        each.run.__name__: each
        for each in (
            Workload(t.crumbs_in_a_loop, ("tiny-tasks",)),
            Workload(
                t.rows_applied_in_threads,
                ("gil-bound",),
                cluster=_FOUR_THREADS,
                elsewhere=_FOUR,
            ),
            Workload(t.loops_in_threads, ("gil-bound",), cluster=_IN_PROCESS),
            Workload(t.products_by_turns, ("cpu-oversubscribed",), cluster=_CROWD),
            Workload(
                t.native_threads,
                ("cpu-oversubscribed",),
                settings=_THREADS_OF_THEIR_OWN,
            ),
            Workload(t.one_native_thread),
            Workload(t.naps_of_tasks, ("io-bound",), ("workers-idle",)),
            Workload(t.a_bag_of_downloads, ("io-bound",), ("workers-idle",)),
            Workload(
                t.more_sleepers_than_it_feeds,
                (),  # each thread waits for the next task, but not for the scheduler
                ("scheduler-overloaded", "io-bound"),
                cluster=_MANY,
            ),
            Workload(
                t.each_needs_hundreds,
                ("tiny-tasks",),
                ("scheduler-overloaded",),
                cluster=_FOUR,
            ),
            Workload(
                t.a_busy_thread_beside_the_scheduler,
                ("scheduler-overloaded",),
                ("io-bound", "event-loop-blocked"),
                cluster=_FOUR,
                fixed=t.nobody_beside_the_scheduler,
            ),
            Workload(
                t.an_audit_of_transitions,
                ("scheduler-overloaded",),
                ("event-loop-blocked",),
                cluster=_FOUR,
                fixed=t.no_audit_of_transitions,
                alone=True,
            ),
            Workload(
                t.weights_of_no_size,
                ("stealing-churn",),
                ("network-bound", "io-bound", *_MEMORY),
                cluster={**_FOUR, "memory_limit": "3GiB"},
                fixed=t.weights_that_stay,
                alone=True,
            ),
            Workload(
                t.names_of_their_own,
                ("stealing-churn",),
                ("network-bound", *_MEMORY),
                cluster=_FOUR,
                fixed=t.names_with_inputs_everywhere,
                alone=True,
            ),
            Workload(
                t.names_without_stealing,
                (),
                ("network-bound", *_MEMORY),
                cluster=_FOUR,
                settings={"distributed.scheduler.work-stealing": False},
                alone=True,
            ),
            Workload(
                t.one_sleeps_on,
                ("straggler",),
                ("io-bound",),
                cluster=_TWO_OF_TWO,
                fixed=t.none_sleeps_on,
            ),
            Workload(t.a_block_unlike_the_others, ("straggler",), cluster=_TWO_OF_TWO),
            Workload(t.naps_of_the_driver, ("driver-bound",)),
            Workload(t.sums_fetched_one_by_one, ("driver-bound",)),
            Workload(t.a_chain_on_two, ("workers-idle",)),
            Workload(
                t.three_partitions,
                ("workers-idle",),
                cluster={**_TWO_OF_TWO, "n_workers": 4},
            ),
            Workload(t.a_power_of_many_digits, ("event-loop-blocked",), ("straggler",)),
            Workload(
                t.records_in_plain_objects, ("gc-time",), fixed=t.records_left_alone
            ),
            Workload(
                t.a_list_that_grows,
                ("memory-leak",),
                _MEMORY,
                cluster={"memory_limit": "1.5GiB"},
                alone=True,
            ),
            Workload(t.one_large_array, ("memory-near-limit",), _MEMORY, _SMALL),
            Workload(
                t.sums_of_what_is_not_held,
                (),  # fused tasks have other names each time: nobody can know
                ("recomputed-work",),
                fixed=t.sums_of_what_is_held,
            ),
            Workload(
                t.turned_and_added,
                ("recomputed-work",),
                ("network-bound", *_MEMORY),
                cluster={**_FOUR, "memory_limit": "2GiB"},
                alone=True,
            ),
            Workload(
                t.night_of_queries,
                ("slower-than-usual",),
                ("io-bound",),
                nights=(*[{"seconds": 0.2}] * 8, {"seconds": 0.8}),
            ),
        )
    }
)
"""By the name of the job."""

if __name__ == "__main__":
    sys.exit(main(__file__, SLOW))
