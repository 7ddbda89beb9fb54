"""Booming bitterns per reed bed, from overnight recordings.

Recordings are cut into clips by one set of tasks and heard by another; clips travel through a Queue so that
hearing can begin before cutting is done.  The report has to be there when the wardens come in, so the job
gives up when the night's budget is spent.
"""

import argparse
import random
import sys
import time
from dataclasses import dataclass, field

from distributed import Client, LocalCluster, Queue, wait


@dataclass
class Night:
    beds: tuple = ("minsmere", "leighton", "ham-wall", "lakenheath")
    budget: float = 12.0
    clips_per_bed: int = 20
    counts: dict = field(default_factory=dict)


class BudgetSpent(Exception):
    """The night is over and the counts are not there."""


def cut_recording(bed, clips, queue_name):
    """Cut one bed's recording into clips and hand them on."""
    queue = Queue(queue_name)
    rnd = random.Random(bed)
    for number in range(clips):
        queue.put({"bed": bed, "clip": number, "level": rnd.random()})
    return clips


def hear_clips(listener, share, queue_name):
    """Take a share of the clips and count those with a boom."""
    queue = Queue(queue_name)
    booms = {}
    for _ in range(share):
        clip = queue.get()
        if clip["level"] > 0.8:
            booms[clip["bed"]] = booms.get(clip["bed"], 0) + 1
    return booms


def microphone_check(bed):
    if bed == "ham-wall":
        raise OSError(f"microphone of {bed}: battery below 10 %")
    return bed


def check_microphones(client, beds):
    """Low batteries are told to the wardens, the recordings are used all the same."""
    futures = client.map(microphone_check, beds)
    wait(futures)
    for bed, future in zip(beds, futures):
        if future.status == "error":
            print(f"note for the wardens: {future.exception()}", flush=True)


def count_night(client, night):
    total = night.clips_per_bed * len(night.beds)
    listeners = 4
    heard = [
        client.submit(
            hear_clips, n, total // listeners, "clips", pure=False, priority=10
        )
        for n in range(listeners)
    ]
    time.sleep(0.5)
    cut = [
        client.submit(cut_recording, bed, night.clips_per_bed, "clips", pure=False)
        for bed in night.beds
    ]
    try:
        wait(cut + heard, timeout=night.budget)
    except TimeoutError:
        done = sum(future.done() for future in cut + heard)
        raise BudgetSpent(
            f"{done} of {len(cut + heard)} pieces after {night.budget:.0f} s"
        ) from None
    for booms in client.gather(heard):
        for bed, number in booms.items():
            night.counts[bed] = night.counts.get(bed, 0) + number


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=12.0)
    night = Night(budget=parser.parse_args().budget)
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            clips = Queue("clips", client=client)
            check_microphones(client, night.beds)
            try:
                count_night(client, night)
            except BudgetSpent as error:
                print(f"wardens get yesterday's counts: {error}", flush=True)
                return 1
            finally:
                clips.close()
    for bed, number in sorted(night.counts.items()):
        print(bed, number)
    return 0


if __name__ == "__main__":
    sys.exit(main())
