"""Apply the amber tariffs to the customs lines."""

import tempfile

from distributed import Client, LocalCluster


class TariffRejected(Exception):
    def __init__(self, code, line):
        self.code = code
        self.line = line
        super().__init__(f"code {code} is not in the book (line {line})")

    def __reduce__(self):
        return TariffRejected, self.args


BOOK = {"7101": 0.02, "7113": 0.04, "9602": 0.03}


def apply_tariff(line, code, value):
    if code not in BOOK:
        raise TariffRejected(code, line)
    return value * BOOK[code]


def main():
    codes = ["7101", "7113", "9602"] * 10
    codes[22] = "7131"
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        duties = client.map(apply_tariff, range(30), codes, [100.0] * 30)
        print("duties", sum(client.gather(duties)))


if __name__ == "__main__":
    main()
