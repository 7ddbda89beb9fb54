"""Answers to the bylaw survey: transcribe the scanned forms, then code the free text.

The coding step uses a licensed text engine. Seats of the engine are handed to the
workers as a resource, so that never more forms are coded at once than there are
seats. Settings come from the department's INI file.
"""

import configparser
import contextlib
import os
import subprocess
import sys
import tempfile
import time

from distributed import Client, wait
from distributed import TimeoutError as DaskTimeout

SETTINGS = """
[cluster]
workers = 2
threads = 2
seats_per_worker = 1

[coding]
seats = 2
batch = 8
patience = 12
"""


def transcribe(form):
    time.sleep(0.05)
    text = " ".join(f"word{(form * 7 + i) % 31}" for i in range(60))
    return {"form": form, "text": text}


def code_answers(batch):
    topics = {}
    for answer in batch:
        for word in answer["text"].split():
            topics[word] = topics.get(word, 0) + 1
    return topics


class OwnCluster:
    """Scheduler and workers as commands, as on the department's server."""

    def __init__(self, section):
        self.section = section
        self.processes = []
        self.folder = tempfile.TemporaryDirectory()
        self.scheduler_file = os.path.join(self.folder.name, "scheduler.json")

    def _start(self, *words):
        log = open(
            os.path.join(self.folder.name, f"{words[0]}-{len(self.processes)}.log"), "w"
        )
        command = [
            sys.executable,
            "-m",
            "dask",
            *words,
            "--scheduler-file",
            self.scheduler_file,
            "--no-dashboard",
        ]
        self.processes.append(
            subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        )
        log.close()

    def __enter__(self):
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        for n in range(self.section.getint("workers")):
            self._start(
                "worker",
                "--name",
                f"desk{n}",
                "--nthreads",
                self.section["threads"],
                "--memory-limit",
                "350MB",
                "--local-directory",
                self.folder.name,
                "--resources",
                f"SEAT={self.section['seats_per_worker']}",
            )
        return self

    def __exit__(self, *exc):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
        self.folder.cleanup()


def run(settings):
    coding = settings["coding"]
    with OwnCluster(settings["cluster"]) as cluster:
        with Client(scheduler_file=cluster.scheduler_file, timeout="20s") as client:
            client.wait_for_workers(settings["cluster"].getint("workers"), timeout=20)
            answers = client.map(transcribe, range(64))
            wait(answers)
            print(f"{len(answers)} forms transcribed", flush=True)

            size = coding.getint("batch")
            batches = [answers[i : i + size] for i in range(0, len(answers), size)]
            coded = [
                client.submit(
                    code_answers, batch, resources={"SEAT": coding.getint("seats")}
                )
                for batch in batches
            ]
            wait(coded, timeout=coding.getint("patience"))
            return client.gather(coded)


def main():
    settings = configparser.ConfigParser()
    settings.read_string(SETTINGS)
    try:
        topics = run(settings)
    except (DaskTimeout, TimeoutError):
        sys.exit("coding was not ready in time, try again tomorrow")
    print(f"{sum(len(t) for t in topics)} topics coded")


if __name__ == "__main__":
    main()
