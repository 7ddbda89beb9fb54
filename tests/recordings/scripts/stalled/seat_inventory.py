"""Validate fare rules and rebuild the seat inventory within its slot."""

import re
import signal

from dask.distributed import Client, LocalCluster

RULE = re.compile(r"^(?:[A-Z]+[0-9]*)+;$")
RULES = ["YOW2;", "BRT4;", "KLM1M2;", "A" * 60 + ":", "QAP7;"]


class SlotOver(Exception):
    pass


def on_alarm(signum, frame):
    raise SlotOver("inventory slot of 12 s is over")


def check_rule(number, text):
    return number, bool(RULE.match(text))


def main():
    signal.signal(signal.SIGALRM, on_alarm)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    signal.alarm(12)
    try:
        futures = [
            client.submit(check_rule, i, r, key=f"rule-{i}")
            for i, r in enumerate(RULES)
        ]
        print(dict(client.gather(futures)))
        signal.alarm(0)
    finally:
        client.close()
        cluster.close(timeout=5)


if __name__ == "__main__":
    main()
