"""Sentences that several rules or the graph need: each function takes the facts of one thing, and says it.

words                what is said of one thing that had happened before
words_of_identities  a key that ran before, an address that died, a worker's own folder
words_of_exits       who ended a worker process, and how full its memory was
words_of_files       files that were removed, missing, or meant in another directory
words_of_lines       what the job printed or logged
words_of_placement   the worker that a waiting task asks for
words_of_state       what code had changed in a worker's process
words_of_processes   workers, programs and processes that had failed
words_of_tasks       tasks that had failed
words_of_units       what the managers of jobs and pods say of them
words_of_verdict     a verdict with what led to it, and why another cause is not the root
words_of_steps       the steps of the chain, and the outcome
"""
