"""Slow runs, and what must be found in each.

python tests/recordings/slow.py [NAME …] [--store FOLDER] [--diagnose-only]
"""

from __future__ import annotations

import sys

import slow_jobs as t
from healthy_frames import make_tables
from workload import Workload, main

__all__ = ["SLOW"]

_FOUR = {"n_workers": 4, "threads_per_worker": 1, "memory_limit": "1GiB"}
_FOUR_THREADS = {"n_workers": 1, "threads_per_worker": 4, "memory_limit": "4GiB"}
_EIGHT_THREADS = {"n_workers": 1, "threads_per_worker": 8, "memory_limit": "4GiB"}
_FOUR_OF_TWO = {"n_workers": 4, "threads_per_worker": 2, "memory_limit": "1GiB"}
_MANY = {"n_workers": 4, "threads_per_worker": 24, "memory_limit": "1GiB"}
_SMALL = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "500MiB"}
_ONE = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "1GiB"}
_SMALL_OF_TWO = {"n_workers": 2, "threads_per_worker": 2, "memory_limit": "1GiB"}
_UNSATURATED = {"distributed.scheduler.worker-saturation": "inf"}
_NO_SPILLING = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
}
_SLEPT = ("io-bound",)  # their tasks sleep, which is waiting for something outside
_MEMORY = ("spilling", "memory-near-limit", "overproduction", "chunks-too-large")

SLOW: dict[str, Workload] = {
    each.run.__name__: each
    for each in (
        Workload(t.tiny_futures, ("tiny-tasks",)),
        Workload(t.tiny_partitions, ("tiny-tasks",)),
        Workload(t.tiny_chunks, ("tiny-tasks",), cluster=_FOUR),
        Workload(t.python_in_threads, ("gil-bound",), cluster=_FOUR_THREADS),
        Workload(
            t.frames_of_text_in_threads,
            ("gil-bound",),
            cluster=_FOUR_THREADS,
            needs=make_tables,
        ),
        Workload(t.waiting_futures, ("io-bound",)),
        Workload(t.waiting_partitions, ("io-bound",)),
        Workload(t.too_many_threads, ("cpu-oversubscribed",), cluster=_EIGHT_THREADS),
        Workload(t.too_many_workers, ("cpu-oversubscribed",), cluster=_FOUR_OF_TWO),
        Workload(t.one_long_task, ("straggler",), cluster=_FOUR),
        Workload(t.one_large_partition, ("straggler",)),
        Workload(t.second_half_is_one_task, ("straggler",), _SLEPT),
        Workload(t.second_half_is_one_merge, ("straggler",), _SLEPT, _FOUR),
        Workload(t.driver_works_between, ("driver-bound",)),
        Workload(t.driver_computes_most_of_a_short_run, ("driver-bound",), _SLEPT),
        Workload(t.driver_waits_between, ("driver-bound",), cluster=_FOUR),
        Workload(t.few_partitions, ("workers-idle",), cluster=_FOUR_OF_TWO),
        Workload(t.one_after_the_other, ("workers-idle",), cluster=_FOUR),
        Workload(
            t.chunks_of_a_third_of_a_worker,
            ("chunks-too-large",),
            _MEMORY,
            _ONE,
            alone=True,
        ),
        Workload(t.held_array, ("spilling",), _MEMORY, _SMALL, alone=True),
        Workload(
            t.held_frame, ("spilling",), _MEMORY, _SMALL, alone=True, needs=make_tables
        ),
        Workload(
            t.ran_ahead, ("overproduction",), _MEMORY, _SMALL, _UNSATURATED, alone=True
        ),
        Workload(
            t.ran_ahead_in_array,
            ("overproduction",),
            _MEMORY,
            _SMALL,
            _UNSATURATED,
            alone=True,
        ),
        Workload(
            t.large_chunks, ("chunks-too-large",), _MEMORY, _SMALL_OF_TWO, alone=True
        ),
        Workload(
            t.large_partitions,
            ("chunks-too-large",),
            _MEMORY,
            _SMALL_OF_TWO,
            alone=True,
        ),
        Workload(t.near_the_limit, ("memory-near-limit",), _MEMORY, _SMALL, alone=True),
        Workload(
            t.near_the_limit_by_results,
            ("memory-near-limit",),
            _MEMORY,
            {**_SMALL, "n_workers": 1, "memory_limit": "640MiB"},
            _NO_SPILLING,
            alone=True,
        ),
        Workload(t.leaking, ("memory-leak",), _MEMORY, alone=True),
        Workload(t.leaking_cache, ("memory-leak",), _MEMORY, alone=True),
        Workload(t.tangled_objects, ("gc-time",)),
        Workload(t.collecting_by_hand, ("gc-time",)),
        Workload(t.sent_around, ("network-bound",), ("workers-idle",)),
        Workload(t.wanted_by_all, ("network-bound",), cluster=_FOUR),
        Workload(t.holds_the_gil, ("event-loop-blocked",)),
        Workload(t.sorts_at_length, ("event-loop-blocked",)),
        Workload(t.data_in_the_graph, ("large-graph",)),
        Workload(t.frame_in_the_graph, ("large-graph",)),
        Workload(
            t.everything_with_everything, ("scheduler-overloaded",), cluster=_FOUR
        ),
        Workload(
            t.more_threads_than_a_scheduler_feeds,
            ("scheduler-overloaded",),
            cluster=_MANY,
        ),
        Workload(t.lost_results, ("recomputed-work",), ("workers-died",), alone=True),
        Workload(
            t.held_by_a_worker_that_dies,
            ("workers-died",),
            ("recomputed-work",),
            alone=True,
        ),
        Workload(t.asked_again_and_again, ("recomputed-work",)),
        Workload(
            t.shuffle_loses_a_worker,
            ("shuffle-restarted",),
            ("workers-died", "recomputed-work"),
            alone=True,
            needs=make_tables,
        ),
        Workload(
            t.join_loses_a_worker,
            ("shuffle-restarted",),
            ("workers-died", "recomputed-work"),
            alone=True,
            needs=make_tables,
        ),
        Workload(
            t.limit_above_the_host,
            ("memory-limit-ignored",),
            cluster={"memory_limit": "100TB"},
            alone=True,
        ),
        Workload(
            t.grown_with_too_high_a_limit,
            ("memory-limit-ignored",),
            cluster={"memory_limit": "100TB"},
            alone=True,
        ),
        Workload(
            t.talkative,
            ("recording-incomplete",),
            ("tiny-tasks",),
            settings={"blackbox.capture.buffer": 500},
        ),
    )
}
"""By the name of the job."""

if __name__ == "__main__":
    sys.exit(main(__file__, SLOW))
