"""Extract the clauses of the onyx contracts and print an overview."""

import os
import tempfile

from distributed import Client, LocalCluster


class Clause:
    def __init__(self, number, text):
        self.number = number
        self.text = text
        self.schema = int(os.environ["CLAUSE_SCHEMA"])

    def __getstate__(self):
        return {"number": self.number, "text": self.text}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.schema = int(os.environ["CLAUSE_SCHEMA"])


def extract(contract):
    return Clause(contract, f"Clause of contract {contract}")


def length(clause):
    return len(clause.text)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        os.environ["CLAUSE_SCHEMA"] = "4"
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        )
        del os.environ["CLAUSE_SCHEMA"]
        with cluster, Client(cluster) as client:
            clauses = client.map(extract, range(6))
            print("lengths", client.gather(client.map(length, clauses)))
            for clause in client.gather(clauses):
                print(clause.number, clause.text)


if __name__ == "__main__":
    main()
