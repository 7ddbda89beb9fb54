"""Searches beam designs with several strategies; the first that satisfies the norm is taken."""

import random
import time

from dask.distributed import CancelledError, Client, LocalCluster, as_completed


def load_case(bridge):
    time.sleep(0.3)
    return {"bridge": bridge, "span": 12 + bridge * 3}


def search(case, strategy, patience):
    rng = random.Random(f"{case['bridge']}-{strategy}")
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        time.sleep(0.05)
    return strategy, case["bridge"], round(case["span"] / 20 + rng.random() * 0.1, 3)


def main():
    chosen = {}
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            for bridge in range(3):
                case = client.submit(load_case, bridge)
                futures = [
                    client.submit(
                        search,
                        case,
                        strategy,
                        patience,
                        key=f"search-{bridge}-{strategy}",
                    )
                    for strategy, patience in (
                        ("table", 0.5),
                        ("anneal", 6),
                        ("swarm", 6),
                    )
                ]
                first = next(as_completed(futures))
                chosen[bridge] = first.result()
                others = [future for future in futures if future is not first]
                client.cancel(others)
                for future in others:
                    try:
                        future.result(timeout=5)
                    except CancelledError:
                        print(f"{future.key} no longer needed")
    for bridge, (strategy, _, depth) in chosen.items():
        print(bridge, strategy, depth)
    assert len(chosen) == 3


if __name__ == "__main__":
    main()
