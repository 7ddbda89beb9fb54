"""Probe the nettle sensors with small helper programs from the workers."""

import subprocess
import sys
import tempfile

from distributed import Client, LocalCluster

HELPER = "import sys; n = int(sys.argv[1]); sys.stderr.write('sensor %d silent\\n' % n) if n % 4 == 0 else print(n); sys.exit(2 if n % 4 == 0 else 0)"


def probe(number):
    done = subprocess.run(
        [sys.executable, "-c", HELPER, str(number)], capture_output=True, text=True
    )
    return number, done.returncode, done.stderr.strip()


def main():
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
        answers = client.gather(client.map(probe, range(10)))
        silent = [number for number, code, _ in answers if code == 2]
        for _, code, text in answers:
            if code:
                print("note:", text, file=sys.stderr)
        try:
            subprocess.run(
                [sys.executable, "-c", "raise RuntimeError('calibration not found')"],
                check=True,
            )
        except subprocess.CalledProcessError as exc:
            print("default calibration used, helper ended with", exc.returncode)
        print("silent sensors:", silent)


if __name__ == "__main__":
    main()
