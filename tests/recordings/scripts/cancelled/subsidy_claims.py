"""Farm subsidy claims: read, score, sample for inspection, make the payment file."""

import argparse
import json
import sys
import time
import traceback

import pandas as pd
from distributed import Client, LocalCluster, get_client


class Stage:
    """A step of the pipeline with its own retries."""

    def __init__(self, name, func, retries=1):
        self.name, self.func, self.retries = name, func, retries

    def __call__(self, state):
        for attempt in range(1, self.retries + 2):
            started = time.perf_counter()
            try:
                self.func(state)
            except ValueError as e:
                print(f"{self.name}: attempt {attempt} failed: {e}", flush=True)
                if attempt > self.retries:
                    raise
            else:
                print(f"{self.name}: {time.perf_counter() - started:.1f} s", flush=True)
                return


def parse_batch(number, strict):
    time.sleep(0.2)
    frame = pd.DataFrame({"claim": range(number * 50, number * 50 + 50)})
    frame["hectares"] = (frame.claim * 37 % 410) / 10
    if strict and number == 4:
        raise ValueError(f"batch {number}: 3 claims without a field number")
    return frame


def score_batch(frame):
    time.sleep(0.15)
    return frame.assign(risk=(frame.hectares * 7 % 10) / 10)


def draw_sample(number, share):
    time.sleep(0.1)
    return [
        c for c in range(number * 50, number * 50 + 50) if c * 7919 % 100 < share * 100
    ]


def pay(frame, sample):
    held = frame.claim.isin(sample)
    return float((frame.hectares[~held] * 172.5).sum()), int(held.sum())


def read_and_score(state):
    client = get_client()
    strict = state.pop("strict", False)
    parsed = client.map(parse_batch, range(12), strict=strict)
    state["scored"] = client.map(score_batch, parsed)
    state["mean_risk"] = client.submit(
        lambda fs: float(pd.concat(fs).risk.mean()), state["scored"]
    ).result()


def sample_for_inspection(state):
    client = get_client()
    # the parser of the regional office keeps its pages, so fresh processes before the long part
    client.restart(timeout=30)
    drawn = client.map(draw_sample, range(12), share=0.05 + state["mean_risk"] / 20)
    state["sample"] = [c for part in client.gather(drawn) for c in part]


def make_payments(state):
    client = get_client()
    paid = [client.submit(pay, f, state["sample"]) for f in state["scored"]]
    totals = client.gather(paid)
    state["total"] = sum(t for t, _ in totals)


PIPELINE = [
    Stage("read and score", read_and_score),
    Stage("sample", sample_for_inspection, retries=0),
    Stage("payments", make_payments, retries=0),
]


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="payments.json")
    parser.add_argument("--lenient", action="store_true")
    args = parser.parse_args(argv)
    state = {"strict": not args.lenient}
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster):
            for stage in PIPELINE:
                try:
                    stage(state)
                except BaseException:
                    traceback.print_exc()
                    print(f"pipeline stopped in '{stage.name}'", file=sys.stderr)
                    return 1
    with open(args.out, "w") as f:
        json.dump({"total": state["total"], "held": len(state["sample"])}, f)
    return 0


if __name__ == "__main__":
    sys.exit(main())
