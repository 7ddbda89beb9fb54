import json

from dask.distributed import Client, as_completed

DOCS = ['{"total": 12.5}', '{"total": 8}', '{"total": ', '{"sum": 4}', '{"total": 31}']


def parse(doc):
    return json.loads(doc)["total"]


def main():
    paid, rejected = [], []
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        futures = {
            client.submit(parse, doc, key=f"invoice-{k}"): k
            for k, doc in enumerate(DOCS)
        }
        for future in as_completed(futures):
            try:
                paid.append(future.result())
            except (ValueError, KeyError) as exc:
                print("rejected invoice", futures[future], type(exc).__name__, exc)
                rejected.append(futures[future])
    print("paid", sum(paid), "to manual desk", sorted(rejected))
    assert len(rejected) == 2


if __name__ == "__main__":
    main()
