"""The job is what a command runs, not what starts it."""

from __future__ import annotations

import shlex

import pytest
from dask_blackbox.identity import argv_of, identity_from_environment, started_as


def job_of(command: str) -> str:
    return identity_from_environment({}, started_as(shlex.split(command))).job


@pytest.mark.parametrize(
    "starts",
    [
        "",
        "python",
        "python3.12 -u",
        "python -X dev -W ignore",
        "python -Xdev -OO",
        "uv run",
        "uv run --with pandas --python 3.12 -- python",
        "uv --directory /srv run --extra s3",
        "uv run --env-file=.env python",
        "poetry run python",
        "poetry -C /srv run python",
        "pdm run python",
        "hatch -e prod run python",
        "conda run -n prod --no-capture-output python",
        "/opt/conda/bin/conda run --name prod --live-stream python",
        "micromamba run -n prod python",
        "env python",
        "env -i -u HOME OMP_NUM_THREADS=1 PATH=/usr/bin python",
        "/usr/bin/env python3",
        "nice -n 10 python",
        "nice -10 ionice -c 3 python",
        "time -p python",
        "/usr/bin/time -v -o /tmp/t python",
        "nohup setsid python",
        "timeout -k 5 --signal=TERM 1h python",
        "stdbuf -oL python",
        "taskset 0x3 python",
        "srun python",
        "srun -n 4 --partition long --mem=4G -c2 python",
        "mpirun -np 4 --mca btl self,tcp -x OMP_NUM_THREADS python",
        "mpiexec -n 4 --hostfile hosts python",
        "xvfb-run -a -s '-screen 0 1x1x24' python",
        "xvfb-run --auto-servernum uv run",
        "srun -n 2 env A=1 nice -n 5 uv run python -X dev",
        "coverage run --source shop",
        "python -m coverage run --branch",
        "python -m cProfile -o out",
        "python -m pdb",
        "chrt -b 0 python",
        "flock -n /tmp/lock python",
        "chronic python",
        "docker run --rm -v /srv:/srv image python",
        "kubectl exec pod -- python3",
        "strace -f -o /tmp/trace python -u",
        "ddtrace-run python",
        "aws-vault exec prod -- python",
        "systemd-run --user --scope python3.12",
        "/entrypoint.sh python",
        "torchrun --nproc-per-node 2",
        "ipython",
        "hatch run prod:python",
    ],
)
def test_a_script_gives_the_name_whatever_starts_it(starts: str) -> None:
    assert job_of(f"{starts} jobs/etl.py --day 3 -m x") == "etl"
    argv = argv_of(shlex.split(f"{starts} jobs/etl.py --day 3"))
    assert argv == ["jobs/etl.py", "--day", "3"]


@pytest.mark.parametrize(
    ("command", "job"),
    [
        ("python -m etl", "etl"),
        ("python -X dev -m pkg", "pkg"),
        ("python -Im pkg.etl --day 3", "etl"),
        ("python -mpkg.etl", "etl"),
        ("python -m pkg.__main__", "pkg"),
        ("uv run -m pkg.etl", "etl"),
        ("uv run --module pkg.etl", "etl"),
        ("uv run python -m pkg", "pkg"),
        ("bash x.sh", "x"),
        ("bash -eu -o pipefail jobs/nightly.sh 3", "nightly"),
        ("sh -c 'python etl.py'", "etl"),
        ("bash -lc 'cd /srv && source env.sh; OMP=1 uv run etl.py | tee log'", "etl"),
        ("bash -c 'exec poetry run python -m pkg.etl'", "etl"),
        ("su - me -c 'cd /srv; python etl.py'", "etl"),
        ("papermill etl.ipynb out.ipynb -p day 3", "etl"),
        ("jupyter nbconvert --to notebook --execute etl.ipynb", "etl"),
        ("pytest tests/test_etl.py::test_all", "test_etl"),
        ("python -m coverage run -m pkg.etl", "etl"),
        ("docker run image python -m pkg.etl", "etl"),
        ("strace python -c 'print(1)'", "python -c"),
        # A program of the user's own, whatever its arguments are.
        ("etl --settings conf.py", "etl"),
        ("./etl conf.py --python python", "etl"),
        ("uv run etl", "etl"),
        ("poetry run etl --day 3", "etl"),
        ("./etl.py", "etl"),
        ("etl", "etl"),
        # What names nothing.
        ("python -c 'print(1)'", "python -c"),
        ("uv sync", "uv"),
        ("uv", "uv"),
        ("env", "env"),
        ("bash", "bash"),
        ("bash -c 'echo \"open'", "bash"),
        ("python", "python"),
    ],
)
def test_a_command_is_named_after_what_it_runs(command: str, job: str) -> None:
    assert job_of(command) == job
