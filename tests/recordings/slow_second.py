"""Slow runs with other causes than those of `slow.py`, and what they cost.

python tests/recordings/slow_second.py [NAME …] [--store FOLDER] [--diagnose-only]

Some are reported once more as they are when fixed: the core time that this saves is an
independent measure of what the finding says that it cost.
"""

from __future__ import annotations

import sys

import slow_jobs_memory as m
import slow_jobs_time as t
from healthy_frames import make_tables
from workload import Workload, main, with_fixed

__all__ = ["SLOW"]

_FOUR = {"n_workers": 4, "threads_per_worker": 1, "memory_limit": "1GiB"}
_FOUR_THREADS = {"n_workers": 1, "threads_per_worker": 4, "memory_limit": "4GiB"}
_CROWD = {"n_workers": 3, "threads_per_worker": 3, "memory_limit": "1GiB"}
_THREE_OF_TWO = {"n_workers": 3, "threads_per_worker": 2, "memory_limit": "1GiB"}
_SMALL = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "500MiB"}
_OF_ALL = {"n_workers": 3, "threads_per_worker": 1, "memory_limit": "1.0"}
_STEAL_OFTEN = {"distributed.scheduler.work-stealing-interval": "20ms"}
_MEMORY = ("spilling", "memory-near-limit", "overproduction", "chunks-too-large")
_DIED = ("workers-died", "recomputed-work")

SLOW: dict[str, Workload] = with_fixed(
    {
        each.run.__name__: each
        for each in (
            Workload(t.rows_one_by_one, ("tiny-tasks",), fixed=t.rows_in_batches),
            Workload(
                t.bag_of_crumbs, ("tiny-tasks",), cluster=_FOUR, fixed=t.bag_of_pieces
            ),
            Workload(
                t.json_in_threads,
                ("gil-bound",),
                ("gc-time",),
                cluster=_FOUR_THREADS,
                elsewhere=_FOUR,
            ),
            Workload(t.words_by_pattern, ("gil-bound",), cluster=_FOUR_THREADS),
            Workload(t.compressed_by_many, ("cpu-oversubscribed",), cluster=_CROWD),
            Workload(t.products_by_many, ("cpu-oversubscribed",), cluster=_CROWD),
            Workload(t.asked_of_a_service, ("io-bound",)),
            Workload(t.rows_from_a_slow_base, ("io-bound",)),
            Workload(
                t.skewed_groups, ("straggler",), cluster=_FOUR, fixed=t.even_groups
            ),
            Workload(t.a_slow_host, ("straggler",), cluster=_FOUR, fixed=t.hosts_alike),
            Workload(
                t.results_worked_on_here,
                ("driver-bound",),
                fixed=t.results_worked_on_there,
            ),
            Workload(
                t.a_report_at_the_end, ("driver-bound",), fixed=t.no_report_at_the_end
            ),
            Workload(
                t.too_few_asked_for,
                ("workers-idle",),
                cluster=_THREE_OF_TWO,
                fixed=t.all_asked_for,
            ),
            Workload(
                t.one_file_for_all, ("workers-idle",), cluster=_FOUR, needs=make_tables
            ),
            Workload(
                m.texts_held,
                ("spilling",),
                _MEMORY,
                _SMALL,
                alone=True,
                needs=make_tables,
            ),
            Workload(
                m.shuffled_by_tasks,
                ("spilling",),
                _MEMORY,
                _SMALL,
                alone=True,
                needs=make_tables,
            ),
            Workload(
                m.first_things_first, ("overproduction",), _MEMORY, _SMALL, alone=True
            ),
            Workload(m.whole_files, ("chunks-too-large",), _MEMORY, _SMALL, alone=True),
            Workload(
                m.one_chunk_along_time,
                ("chunks-too-large",),
                _MEMORY,
                _SMALL,
                alone=True,
            ),
            Workload(
                m.grown_frame, ("memory-near-limit",), _MEMORY, _SMALL, alone=True
            ),
            Workload(m.tables_cached_for_ever, ("memory-leak",), _MEMORY, alone=True),
            Workload(m.kept_by_the_worker, ("memory-leak",), _MEMORY, alone=True),
            Workload(
                t.objects_that_stay,
                ("gc-time",),
                fixed=t.objects_left_alone,
                alone=True,
            ),
            Workload(t.a_pattern_that_explodes, ("event-loop-blocked",)),
            Workload(t.the_schedulers_loop, ("event-loop-blocked",), alone=True),
            Workload(t.a_table_in_a_closure, ("large-graph",)),
            Workload(t.frames_as_arguments, ("large-graph",)),
            Workload(
                t.a_shuffle_of_many_tasks, ("scheduler-overloaded",), cluster=_FOUR
            ),
            Workload(
                t.a_plugin_on_the_scheduler,
                ("scheduler-overloaded",),
                cluster=_FOUR,
                fixed=t.no_plugin_on_the_scheduler,
            ),
            Workload(
                t.all_behind_one_input,
                ("stealing-churn",),
                ("tiny-tasks",),
                cluster=_FOUR,
                settings=_STEAL_OFTEN,
                fixed=t.sent_to_all,
            ),
            Workload(t.a_product_with_its_transpose, ("network-bound",), cluster=_FOUR),
            Workload(
                m.a_frame_asked_thrice,
                ("recomputed-work",),
                fixed=m.a_frame_held,
                needs=make_tables,
            ),
            Workload(m.held_until_a_restart, ("recomputed-work",), alone=True),
            Workload(m.an_exit_that_nobody_sees, ("workers-died",), alone=True),
            Workload(
                m.too_much_the_first_time,
                ("workers-died",),
                _MEMORY,
                _SMALL,
                alone=True,
            ),
            Workload(
                m.retired_while_it_shuffles,
                ("shuffle-restarted",),
                _DIED,
                alone=True,
                needs=make_tables,
            ),
            Workload(
                m.rechunked_with_a_loss, ("shuffle-restarted",), _DIED, alone=True
            ),
            Workload(
                m.limits_of_the_whole_host, ("memory-limit-ignored",), cluster=_OF_ALL
            ),
            Workload(m.a_service_that_fails_at_times, ("retries-hid-errors",)),
            Workload(m.one_name_for_all_days, ("key-collision",)),
            Workload(
                m.a_pattern_of_no_file, ("silent-empty-input",), needs=make_tables
            ),
            Workload(
                m.night_of_orders,
                ("silent-empty-input",),
                nights=(
                    {"rows": 3},
                    {"rows": 4},
                    {"rows": 3},
                    {"rows": 5},
                    {"rows": 0},
                ),
            ),
            Workload(
                m.night_of_paths,
                ("slower-than-usual",),
                nights=(*[{"slow": 1}] * 9, {"slow": 4}),
            ),
            Workload(
                m.night_of_blocks,
                ("more-memory-than-usual",),
                nights=(*[{"copies": 1}] * 9, {"copies": 7}),
            ),
            Workload(
                m.night_that_grows,
                ("memory-forecast",),
                ("memory-near-limit", "more-memory-than-usual"),
                cluster={"memory_limit": "1GiB"},
                nights=tuple({"mebibytes": 200 + 40 * n} for n in range(11)),
            ),
        )
    }
)
"""By the name of the job."""

if __name__ == "__main__":
    sys.exit(main(__file__, SLOW))
