import re

from dask.distributed import Client, LocalCluster

INGREDIENT = re.compile(r"^((\d+|[a-z]+|\s)+)*;$")


def parse(recipe):
    return bool(INGREDIENT.match(recipe))


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        client = Client(cluster)
        recipes = [f"{k} g flour;" for k in range(40)]
        recipes[23] = (
            "250 g finely chopped dark chocolate with seventy percent cocoa or more!"
        )
        parsed = client.map(parse, recipes)
        try:
            print("parsed", sum(f.result(timeout=9) for f in parsed))
        finally:
            client.close(timeout=1)


if __name__ == "__main__":
    main()
