"""What a remedy says to set, as its code between backticks says it."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import dask_blackbox
import pytest
from dask.utils import parse_bytes, parse_timedelta
from dask_blackbox.setting_changes import changes_in


@pytest.mark.parametrize(
    ("remedy", "changes"),
    [
        pytest.param(
            "Use 8 workers (`n_workers=8, threads_per_worker=1`; `--nworkers 4 --nthreads 1`).",
            ['cluster {"n_workers": 8, "threads_per_worker": 1}'],
            id="options that say the same again",
        ),
        pytest.param(
            "`--lifetime 45m --lifetime-restart` replaces each worker.",
            ['cluster {"lifetime": "45m", "lifetime_restart": True}'],
            id="options alone",
        ),
        pytest.param(
            'Start one with it (`dask worker … --resources "GPU=2 MEM=1e9"`).',
            ['cluster {"resources": {"GPU": 2, "MEM": 1000000000.0}}'],
            id="resources",
        ),
        pytest.param(
            "Set `distributed.scheduler.work-stealing: false`, or `cluster.adapt(minimum=1)`.",
            [
                'config {"distributed.scheduler.work-stealing": False}',
                'adapt {"minimum": 1}',
            ],
            id="alternatives",
        ),
        pytest.param(
            "Raise `distributed.comm.timeouts.connect: 90s, distributed.comm.timeouts.tcp: 90s`.",
            [
                (
                    'config {"distributed.comm.timeouts.connect": "90s", '
                    '"distributed.comm.timeouts.tcp": "90s"}'
                )
            ],
            id="together",
        ),
        pytest.param(
            "Set `OMP_NUM_THREADS=1`, and `MALLOC_TRIM_THRESHOLD_=0`.",
            [
                'cluster {"env": {"OMP_NUM_THREADS": "1"}}',
                'config {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": "0"}',
            ],
            id="variables, those of the C library before the process starts",
        ),
        pytest.param(
            "Set `dask.config.set({'dataframe.convert-string': False})` before.",
            ['config {"dataframe.convert-string": False}'],
            id="a call",
        ),
        pytest.param(
            "Set `memory_limit`, `minimum=…`, `threads_per_worker=n` and `--lifetime`; "
            "`client.submit(…, retries=3)`, `Client(…, timeout=…)`, n_workers=4, "
            "`dask.config.set({1})`, `dask.config.set({'a': f()})`.",
            [],
            id="names without values, values of others, and what is no code",
        ),
        pytest.param(
            "Replacing workers only delays it (`--lifetime … --lifetime-restart`). "
            "`distributed.scheduler.no-workers-timeout: 5 minutes` makes such tasks fail early.",
            [],
            id="what has no effect by itself, and what only fails sooner",
        ),
    ],
)
def test_a_setting_is_changed_where_a_remedy_has_it_with_its_value(
    remedy: str, changes: list[str]
) -> None:
    assert [f"{each.kind} {each.as_code()}" for each in changes_in(remedy)] == changes


def test_the_memory_of_a_finding_is_the_only_limit_and_fewer_workers_go_with_it() -> (
    None
):
    fewer = (
        'start fewer (`n_workers=2, memory_limit="8 GiB"`), or `memory_limit="auto"`'
    )

    alone = changes_in("Give each worker more.", memory_limit="8 GiB")
    together = changes_in(fewer, memory_limit="8 GiB")

    assert [each.values for each in alone] == [{"memory_limit": "8 GiB"}]
    assert [dict(each.values) for each in together] == [
        {"n_workers": 2, "memory_limit": "8 GiB"}
    ]


def test_without_nannies_nothing_is_set_that_only_they_carry_out() -> None:
    remedy = (
        "Set `OMP_NUM_THREADS=1` or `MALLOC_ARENA_MAX=2`; `--lifetime 1h "
        "--lifetime-restart` replaces workers; or `threads_per_worker=1`."
    )

    with_them = changes_in(remedy)
    without = changes_in(remedy, nannies=False)

    assert len(with_them) == 4
    assert [dict(each.values) for each in without] == [{"threads_per_worker": 1}]


_VALUE = re.compile(
    r"((?:distributed|blackbox)(?:\.[a-z-]+)+)['\"]?: ?['\"]?(\d[\d.]*(?: ?[a-zA-Z]+)?)"
)


def _is_read_by_dask(value: str) -> bool:
    for read in (parse_timedelta, parse_bytes):
        with contextlib.suppress(KeyError, ValueError):
            read(value)
            return True
    return False


def test_dask_reads_every_value_of_a_setting_that_a_text_of_ours_names() -> None:
    package = Path(dask_blackbox.__file__).parent
    texts = [*package.rglob("*.py"), *package.rglob("*.md")]
    named = [
        found.groups()
        for file in texts
        for found in _VALUE.finditer(file.read_text(encoding="utf-8"))
    ]

    assert ("distributed.deploy.lost-worker-timeout", "5 minutes") in named
    assert [each for each in named if not _is_read_by_dask(each[1])] == []
