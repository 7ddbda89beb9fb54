import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from distributed import Client

LIB = """
def net_asset_value(fund, units):
    return fund, units * 101.25

def accrue_fees(item):
    fund, nav = item
    return fund, nav * 0.9985
"""


def boot(tmp, cwd):
    sf = str(tmp / "sched.json")
    cmds = [
        ["scheduler", "--port", "0", "--scheduler-file", sf, "--no-dashboard"],
        [
            "worker",
            "--scheduler-file",
            sf,
            "--nthreads",
            "2",
            "--memory-limit",
            "500MB",
            "--no-dashboard",
            "--no-nanny",
            "--local-directory",
            str(tmp),
        ],
    ]
    return sf, [
        subprocess.Popen([sys.executable, "-m", "dask", *c], cwd=cwd) for c in cmds
    ]


def main():
    tmp = Path(tempfile.mkdtemp(prefix="nav"))
    src = tmp / "src"
    src.mkdir()
    (src / "fundlib.py").write_text(textwrap.dedent(LIB))
    sys.path.insert(0, str(src))
    import fundlib

    sf, procs = boot(tmp, cwd=tmp)
    try:
        with Client(scheduler_file=sf, timeout=20) as client:
            client.wait_for_workers(1, timeout=20)
            navs = client.map(
                fundlib.net_asset_value, ["EQ1", "EQ2", "BD1"], [100, 250, 75]
            )
            net = client.map(fundlib.accrue_fees, navs)
            for fund, value in client.gather(net):
                print(fund, value)
    finally:
        for p in procs:
            p.terminate()
            p.wait(10)


if __name__ == "__main__":
    main()
