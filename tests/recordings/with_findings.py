"""Workloads with a finding: jobs that succeed, and what must and may be found of them.

python tests/recordings/with_findings.py [NAME …] [--store FOLDER] [--diagnose-only]

Some are recorded once more as they are when fixed: the core time that this saves is an
independent measure of what the finding says that it cost.  Those without a finding only
resemble the others.
"""

from __future__ import annotations

import sys

import hidden_errors
import idle_time
import memory_pressure
import repeated_work
import task_overhead
import thread_contention
from healthy_frames import make_tables
from workload import main, with_fixed
from workload_list import Workload

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
_CROWD = {"n_workers": 3, "threads_per_worker": 3, "memory_limit": "1GiB"}
_THREE_OF_TWO = {"n_workers": 3, "threads_per_worker": 2, "memory_limit": "1GiB"}
_OF_ALL = {"n_workers": 3, "threads_per_worker": 1, "memory_limit": "1.0"}
_STEAL_OFTEN = {"distributed.scheduler.work-stealing-interval": "20ms"}
_DIED = ("workers-died", "recomputed-work")
_IN_PROCESS = {"processes": False, "n_workers": 1, "threads_per_worker": 4}
_TWO_OF_FOUR = {"n_workers": 2, "threads_per_worker": 4, "memory_limit": "2GiB"}
_TWO_OF_TWO = {"n_workers": 2, "threads_per_worker": 2, "memory_limit": "1GiB"}
_MANY_OF_SIXTEEN = {"n_workers": 4, "threads_per_worker": 16, "memory_limit": "1GiB"}
_THREADS_OF_THEIR_OWN = {
    f"distributed.nanny.pre-spawn-environ.{name}": 6
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
}
_THREE = {"n_workers": 3, "threads_per_worker": 1, "memory_limit": "1GiB"}
_KILLED = ("recomputed-work", *_SLEPT)

WITH_FINDINGS: dict[str, Workload] = with_fixed(
    {
        each.run.__name__: each
        for each in (
            # Tasks that are too small or too many
            Workload(task_overhead.tiny_futures, ("tiny-tasks",)),
            Workload(task_overhead.tiny_partitions, ("tiny-tasks",)),
            Workload(task_overhead.tiny_chunks, ("tiny-tasks",), cluster=_FOUR),
            Workload(
                task_overhead.rows_one_by_one,
                ("tiny-tasks",),
                fixed=task_overhead.rows_in_batches,
            ),
            Workload(
                task_overhead.bag_of_crumbs,
                ("tiny-tasks",),
                cluster=_FOUR,
                fixed=task_overhead.bag_of_pieces,
            ),
            Workload(task_overhead.crumbs_in_a_loop, ("tiny-tasks",)),
            Workload(
                task_overhead.each_needs_hundreds,
                ("tiny-tasks",),
                ("scheduler-overloaded",),
                cluster=_FOUR,
            ),
            Workload(
                task_overhead.everything_with_everything,
                ("scheduler-overloaded",),
                cluster=_FOUR,
            ),
            Workload(
                task_overhead.more_threads_than_a_scheduler_feeds,
                ("scheduler-overloaded",),
                cluster=_MANY,
            ),
            Workload(
                task_overhead.a_shuffle_of_many_tasks,
                ("scheduler-overloaded",),
                cluster=_FOUR,
            ),
            Workload(
                task_overhead.a_plugin_on_the_scheduler,
                ("scheduler-overloaded",),
                cluster=_FOUR,
                fixed=task_overhead.no_plugin_on_the_scheduler,
            ),
            Workload(
                task_overhead.a_busy_thread_beside_the_scheduler,
                ("scheduler-overloaded",),
                ("io-bound", "event-loop-blocked"),
                cluster=_FOUR,
                fixed=task_overhead.nobody_beside_the_scheduler,
            ),
            Workload(
                task_overhead.an_audit_of_transitions,
                ("scheduler-overloaded",),
                ("event-loop-blocked",),
                cluster=_FOUR,
                fixed=task_overhead.no_audit_of_transitions,
                alone=True,
            ),
            Workload(
                task_overhead.all_behind_one_input,
                ("stealing-churn",),
                ("tiny-tasks",),
                cluster=_FOUR,
                settings=_STEAL_OFTEN,
                fixed=task_overhead.sent_to_all,
            ),
            Workload(
                task_overhead.weights_of_no_size,
                ("stealing-churn",),
                ("network-bound", "io-bound", *_MEMORY),
                cluster={**_FOUR, "memory_limit": "3GiB"},
                fixed=task_overhead.weights_that_stay,
                alone=True,
            ),
            Workload(
                task_overhead.names_of_their_own,
                ("stealing-churn",),
                ("network-bound", *_MEMORY),
                cluster=_FOUR,
                fixed=task_overhead.names_with_inputs_everywhere,
                alone=True,
            ),
            Workload(task_overhead.data_in_the_graph, ("large-graph",)),
            Workload(task_overhead.frame_in_the_graph, ("large-graph",)),
            Workload(task_overhead.a_table_in_a_closure, ("large-graph",)),
            Workload(task_overhead.frames_as_arguments, ("large-graph",)),
            Workload(
                task_overhead.more_sleepers_than_it_feeds,
                (),  # each thread waits for the next task, but not for the scheduler
                ("scheduler-overloaded", "io-bound"),
                cluster=_MANY_OF_SIXTEEN,
            ),
            Workload(
                task_overhead.names_without_stealing,
                (),
                ("network-bound", *_MEMORY),
                cluster=_FOUR,
                settings={"distributed.scheduler.work-stealing": False},
                alone=True,
            ),
            # Threads in each other's way
            Workload(
                thread_contention.python_in_threads,
                ("gil-bound",),
                cluster=_FOUR_THREADS,
            ),
            Workload(
                thread_contention.frames_of_text_in_threads,
                ("gil-bound",),
                cluster=_FOUR_THREADS,
                needs=make_tables,
            ),
            Workload(
                thread_contention.json_in_threads,
                ("gil-bound",),
                ("gc-time",),
                cluster=_FOUR_THREADS,
                elsewhere=_FOUR,
            ),
            Workload(
                thread_contention.words_by_pattern,
                ("gil-bound",),
                cluster=_FOUR_THREADS,
            ),
            Workload(
                thread_contention.rows_applied_in_threads,
                ("gil-bound",),
                cluster=_FOUR_THREADS,
                elsewhere=_FOUR,
            ),
            Workload(
                thread_contention.loops_in_threads, ("gil-bound",), cluster=_IN_PROCESS
            ),
            Workload(
                thread_contention.too_many_threads,
                ("cpu-oversubscribed",),
                cluster=_EIGHT_THREADS,
            ),
            Workload(
                thread_contention.too_many_workers,
                ("cpu-oversubscribed",),
                cluster=_FOUR_OF_TWO,
            ),
            Workload(
                thread_contention.compressed_by_many,
                ("cpu-oversubscribed",),
                cluster=_CROWD,
            ),
            Workload(
                thread_contention.products_by_many,
                ("cpu-oversubscribed",),
                cluster=_CROWD,
            ),
            Workload(
                thread_contention.products_by_turns,
                ("cpu-oversubscribed",),
                cluster=_TWO_OF_FOUR,
            ),
            Workload(
                thread_contention.native_threads,
                ("cpu-oversubscribed",),
                settings=_THREADS_OF_THEIR_OWN,
            ),
            Workload(thread_contention.tangled_objects, ("gc-time",)),
            Workload(thread_contention.collecting_by_hand, ("gc-time",)),
            Workload(
                thread_contention.objects_that_stay,
                ("gc-time",),
                fixed=thread_contention.objects_left_alone,
                alone=True,
            ),
            Workload(
                thread_contention.records_in_plain_objects,
                ("gc-time",),
                fixed=thread_contention.records_left_alone,
            ),
            Workload(thread_contention.holds_the_gil, ("event-loop-blocked",)),
            Workload(thread_contention.sorts_at_length, ("event-loop-blocked",)),
            Workload(
                thread_contention.a_pattern_that_explodes, ("event-loop-blocked",)
            ),
            Workload(
                thread_contention.the_schedulers_loop,
                ("event-loop-blocked",),
                alone=True,
            ),
            Workload(
                thread_contention.a_power_of_many_digits,
                ("event-loop-blocked",),
                ("straggler",),
            ),
            Workload(thread_contention.one_native_thread),
            # Workers that wait
            Workload(idle_time.waiting_futures, ("io-bound",)),
            Workload(idle_time.waiting_partitions, ("io-bound",)),
            Workload(idle_time.asked_of_a_service, ("io-bound",)),
            Workload(idle_time.rows_from_a_slow_base, ("io-bound",)),
            Workload(idle_time.naps_of_tasks, ("io-bound",), ("workers-idle",)),
            Workload(idle_time.a_bag_of_downloads, ("io-bound",), ("workers-idle",)),
            Workload(idle_time.driver_works_between, ("driver-bound",)),
            Workload(
                idle_time.driver_computes_most_of_a_short_run, ("driver-bound",), _SLEPT
            ),
            Workload(idle_time.driver_waits_between, ("driver-bound",), cluster=_FOUR),
            Workload(
                idle_time.results_worked_on_here,
                ("driver-bound",),
                fixed=idle_time.results_worked_on_there,
            ),
            Workload(
                idle_time.a_report_at_the_end,
                ("driver-bound",),
                fixed=idle_time.no_report_at_the_end,
            ),
            Workload(idle_time.naps_of_the_driver, ("driver-bound",)),
            Workload(idle_time.sums_fetched_one_by_one, ("driver-bound",)),
            Workload(idle_time.few_partitions, ("workers-idle",), cluster=_FOUR_OF_TWO),
            Workload(idle_time.one_after_the_other, ("workers-idle",), cluster=_FOUR),
            Workload(
                idle_time.too_few_asked_for,
                ("workers-idle",),
                cluster=_THREE_OF_TWO,
                fixed=idle_time.all_asked_for,
            ),
            Workload(
                idle_time.one_file_for_all,
                ("workers-idle",),
                cluster=_FOUR,
                needs=make_tables,
            ),
            Workload(idle_time.a_chain_on_two, ("workers-idle",)),
            Workload(
                idle_time.three_partitions,
                ("workers-idle",),
                cluster={**_TWO_OF_TWO, "n_workers": 4},
            ),
            Workload(idle_time.one_long_task, ("straggler",), cluster=_FOUR),
            Workload(idle_time.one_large_partition, ("straggler",)),
            Workload(idle_time.second_half_is_one_task, ("straggler",), _SLEPT),
            Workload(idle_time.second_half_is_one_merge, ("straggler",), _SLEPT, _FOUR),
            Workload(
                idle_time.skewed_groups,
                ("straggler",),
                cluster=_FOUR,
                fixed=idle_time.even_groups,
            ),
            Workload(
                idle_time.a_slow_host,
                ("straggler",),
                cluster=_FOUR,
                fixed=idle_time.hosts_alike,
            ),
            Workload(
                idle_time.one_sleeps_on,
                ("straggler",),
                ("io-bound",),
                cluster=_TWO_OF_TWO,
                fixed=idle_time.none_sleeps_on,
            ),
            Workload(
                idle_time.a_block_unlike_the_others, ("straggler",), cluster=_TWO_OF_TWO
            ),
            Workload(idle_time.sent_around, ("network-bound",), ("workers-idle",)),
            Workload(idle_time.wanted_by_all, ("network-bound",), cluster=_FOUR),
            Workload(
                idle_time.a_product_with_its_transpose,
                ("network-bound",),
                cluster=_FOUR,
            ),
            Workload(
                idle_time.night_of_paths,
                ("slower-than-usual",),
                nights=(*[{"slow": 1}] * 9, {"slow": 4}),
            ),
            Workload(
                idle_time.night_of_queries,
                ("slower-than-usual",),
                ("io-bound",),
                nights=(*[{"seconds": 0.2}] * 8, {"seconds": 0.8}),
            ),
            # More memory than there is
            Workload(
                memory_pressure.held_array, ("spilling",), _MEMORY, _SMALL, alone=True
            ),
            Workload(
                memory_pressure.held_frame,
                ("spilling",),
                _MEMORY,
                _SMALL,
                alone=True,
                needs=make_tables,
            ),
            Workload(
                memory_pressure.texts_held,
                ("spilling",),
                _MEMORY,
                _SMALL,
                alone=True,
                needs=make_tables,
            ),
            Workload(
                memory_pressure.shuffled_by_tasks,
                ("spilling",),
                _MEMORY,
                _SMALL,
                alone=True,
                needs=make_tables,
            ),
            Workload(
                memory_pressure.near_the_limit,
                ("memory-near-limit",),
                _MEMORY,
                _SMALL,
                alone=True,
            ),
            Workload(
                memory_pressure.near_the_limit_by_results,
                ("memory-near-limit",),
                _MEMORY,
                {**_SMALL, "n_workers": 1, "memory_limit": "640MiB"},
                _NO_SPILLING,
                alone=True,
            ),
            Workload(
                memory_pressure.grown_frame,
                ("memory-near-limit",),
                _MEMORY,
                _SMALL,
                alone=True,
            ),
            Workload(
                memory_pressure.one_large_array, ("memory-near-limit",), _MEMORY, _SMALL
            ),
            Workload(
                memory_pressure.ran_ahead,
                ("overproduction",),
                _MEMORY,
                _SMALL,
                _UNSATURATED,
                alone=True,
            ),
            Workload(
                memory_pressure.ran_ahead_in_array,
                ("overproduction",),
                _MEMORY,
                _SMALL,
                _UNSATURATED,
                alone=True,
            ),
            Workload(
                memory_pressure.first_things_first,
                ("overproduction",),
                _MEMORY,
                _SMALL,
                alone=True,
            ),
            Workload(
                memory_pressure.chunks_of_a_third_of_a_worker,
                ("chunks-too-large",),
                _MEMORY,
                _ONE,
                alone=True,
            ),
            Workload(
                memory_pressure.large_chunks,
                ("chunks-too-large",),
                _MEMORY,
                _SMALL_OF_TWO,
                alone=True,
            ),
            Workload(
                memory_pressure.large_partitions,
                ("chunks-too-large",),
                _MEMORY,
                _SMALL_OF_TWO,
                alone=True,
            ),
            Workload(
                memory_pressure.whole_files,
                ("chunks-too-large",),
                _MEMORY,
                _SMALL,
                alone=True,
            ),
            Workload(
                memory_pressure.one_chunk_along_time,
                ("chunks-too-large",),
                _MEMORY,
                _SMALL,
                alone=True,
            ),
            Workload(memory_pressure.leaking, ("memory-leak",), _MEMORY, alone=True),
            Workload(
                memory_pressure.leaking_cache, ("memory-leak",), _MEMORY, alone=True
            ),
            Workload(
                memory_pressure.tables_cached_for_ever,
                ("memory-leak",),
                _MEMORY,
                alone=True,
            ),
            Workload(
                memory_pressure.kept_by_the_worker,
                ("memory-leak",),
                _MEMORY,
                alone=True,
            ),
            Workload(
                memory_pressure.a_list_that_grows,
                ("memory-leak",),
                _MEMORY,
                cluster={"memory_limit": "1.5GiB"},
                alone=True,
            ),
            Workload(
                memory_pressure.limit_above_the_host,
                ("memory-limit-ignored",),
                cluster={"memory_limit": "100TB"},
                alone=True,
            ),
            Workload(
                memory_pressure.grown_with_too_high_a_limit,
                ("memory-limit-ignored",),
                cluster={"memory_limit": "100TB"},
                alone=True,
            ),
            Workload(
                memory_pressure.limits_of_the_whole_host,
                ("memory-limit-ignored",),
                cluster=_OF_ALL,
            ),
            Workload(
                memory_pressure.night_of_blocks,
                ("more-memory-than-usual",),
                nights=(*[{"copies": 1}] * 9, {"copies": 7}),
            ),
            Workload(
                memory_pressure.night_that_grows,
                ("memory-forecast",),
                ("memory-near-limit", "more-memory-than-usual"),
                cluster={"memory_limit": "1GiB"},
                nights=tuple({"mebibytes": 200 + 40 * n} for n in range(11)),
            ),
            # Work that is done again
            Workload(
                repeated_work.lost_results,
                ("recomputed-work",),
                ("workers-died",),
                alone=True,
            ),
            Workload(repeated_work.asked_again_and_again, ("recomputed-work",)),
            Workload(
                repeated_work.a_frame_asked_thrice,
                ("recomputed-work",),
                fixed=repeated_work.a_frame_held,
                needs=make_tables,
            ),
            Workload(
                repeated_work.held_until_a_restart, ("recomputed-work",), alone=True
            ),
            Workload(
                repeated_work.turned_and_added,
                ("recomputed-work",),
                ("network-bound", *_MEMORY),
                cluster={**_FOUR, "memory_limit": "2GiB"},
                alone=True,
            ),
            Workload(
                repeated_work.held_by_a_worker_that_dies,
                ("workers-died",),
                ("recomputed-work",),
                alone=True,
            ),
            Workload(
                repeated_work.an_exit_that_nobody_sees, ("workers-died",), alone=True
            ),
            Workload(
                repeated_work.too_much_the_first_time,
                ("workers-died",),
                _MEMORY,
                _SMALL,
                alone=True,
            ),
            Workload(
                repeated_work.two_workers_are_killed,
                ("workers-died",),
                _KILLED,
                _THREE,
                alone=True,
            ),
            Workload(
                repeated_work.shuffle_loses_a_worker,
                ("shuffle-restarted",),
                ("workers-died", "recomputed-work"),
                alone=True,
                needs=make_tables,
            ),
            Workload(
                repeated_work.join_loses_a_worker,
                ("shuffle-restarted",),
                ("workers-died", "recomputed-work"),
                alone=True,
                needs=make_tables,
            ),
            Workload(
                repeated_work.retired_while_it_shuffles,
                ("shuffle-restarted",),
                _DIED,
                alone=True,
                needs=make_tables,
            ),
            Workload(
                repeated_work.rechunked_with_a_loss,
                ("shuffle-restarted",),
                _DIED,
                alone=True,
            ),
            Workload(
                repeated_work.a_service_that_fails_at_times, ("retries-hid-errors",)
            ),
            Workload(repeated_work.retried_by_hand, ("retries-hid-errors",)),
            Workload(repeated_work.retried_partitions, ("retries-hid-errors",)),
            Workload(
                repeated_work.sums_of_what_is_not_held,
                (),  # fused tasks have other names each time: nobody can know
                ("recomputed-work",),
                fixed=repeated_work.sums_of_what_is_held,
            ),
            Workload(
                repeated_work.a_cluster_that_breathes, (), _SLEPT, _THREE, alone=True
            ),
            Workload(repeated_work.restarted_between_two_parts, alone=True),
            # Wrong or empty results
            Workload(
                hidden_errors.a_pattern_of_no_file,
                ("silent-empty-input",),
                needs=make_tables,
            ),
            Workload(
                hidden_errors.night_of_orders,
                ("silent-empty-input",),
                nights=(
                    {"rows": 3},
                    {"rows": 4},
                    {"rows": 3},
                    {"rows": 5},
                    {"rows": 0},
                ),
            ),
            Workload(hidden_errors.files_with_headers_only, ("silent-empty-input",)),
            Workload(hidden_errors.lines_of_empty_files, ("silent-empty-input",)),
            Workload(hidden_errors.a_day_that_is_not_there, ("silent-empty-input",)),
            Workload(hidden_errors.one_name_for_all_days, ("key-collision",)),
            Workload(hidden_errors.one_key_for_all_days, ("key-collision",)),
            Workload(hidden_errors.two_images_of_one_name, ("key-collision",)),
            Workload(
                hidden_errors.talkative,
                ("recording-incomplete",),
                ("tiny-tasks",),
                settings={"blackbox.capture.buffer": 500},
            ),
            Workload(hidden_errors.one_sunday_without_orders),
            Workload(hidden_errors.nobody_is_excluded),
            Workload(hidden_errors.asked_twice_for_the_same),
            # That they failed is true, and worth a line, though the driver expects it.
            Workload(hidden_errors.errors_that_are_expected, may=("task-exception",)),
        )
    }
)
"""By the name of the job."""

if __name__ == "__main__":
    sys.exit(main(__file__, WITH_FINDINGS))
