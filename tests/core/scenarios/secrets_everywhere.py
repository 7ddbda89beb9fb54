"""A run whose every corner holds a secret.

python secrets_everywhere.py STORE, with the secrets as JSON in the environment
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import warnings

import dask
from dask_blackbox import recording
from distributed import Client, KilledWorker, LocalCluster, get_worker
from scenario_reports import report_card, scaled

SECRETS: dict[str, str] = json.loads(os.environ["SECRETS"])
SHAPES: dict[str, str] = json.loads(os.environ["SHAPES"])


def sentences(secrets: dict[str, str]) -> list[str]:
    return [
        f"key {secrets['aws key']} was used",
        f"aws_secret_access_key={secrets['aws secret']}",
        f"export AWS_SECRET_ACCESS_KEY='{secrets['aws secret']}'",
        f"connecting to postgresql://etl:{secrets['url password']}@db.internal/prod",
        f"Authorization: Bearer {secrets['bearer']}",
        f'{{"password": "{secrets["json password"]}", "user": "etl"}}',
        f"the staff badge {secrets['badge']} was shown",
        f"token: {secrets['token']}",
        f"the service was asked with {secrets['environment variable']}",
        *(SHAPES[name].format(secrets[f"assigned: {name}"]) for name in SHAPES),
        *(f"got {v} back" for k, v in secrets.items() if k.startswith("token: ")),
    ]


def key_file(secrets: dict[str, str]) -> list[str]:
    return [
        "-----BEGIN RSA PRIVATE KEY-----",
        secrets["private key line"],
        secrets["private key end"],
        "-----END RSA PRIVATE KEY-----",
    ]


def leak(secrets: dict[str, str]) -> None:
    for sentence in sentences(secrets):
        logging.getLogger("job").error("%s", sentence)
        print(sentence)
    for line in key_file(secrets):
        print(line)
    get_worker().log_event("user-topic", {"found": secrets["topic"]})
    raise ValueError("; ".join(sentences(secrets)))


def leak_and_die(secrets: dict[str, str]) -> None:
    for sentence in sentences(secrets):
        logging.getLogger("job").error("%s", sentence)
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    raise ConnectionError("; ".join(sentences(SECRETS)))


def main(store: str) -> None:
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "blackbox.redact": [r"badge \d+"],
            "mine.database": {"password": SECRETS["config password"], "port": 5432},
            "mine.service.api-key": SECRETS["config key"],
            "mine.s3": {"key": SECRETS["config key"], "token": [SECRETS["token"]]},
        }
    )
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        rec = recording(
            client,
            store=store,
            job="secrets",
            parameters={
                "password": SECRETS["parameter"],
                "nested": {"key": SECRETS["parameter"]},
                "url": f"redis://:{SECRETS['url password']}@cache/0",
                "rows": 17,
            },
            host={"kind": "test", "auth_token": SECRETS["token"]},
        )
        try:
            with rec:
                sys.argv += ["--api-key", SECRETS["option"]]
                client.submit(leak, SECRETS, pure=False).exception(timeout=scaled(60))
                client.submit(len, (), key=f"load-{SECRETS['task key']}").result(60)
                with contextlib.suppress(KilledWorker):
                    client.submit(leak_and_die, SECRETS, pure=False).result(
                        timeout=scaled(60)
                    )
                for sentence in sentences(SECRETS):
                    logging.getLogger("job").error("%s", sentence)
                    warnings.warn(sentence, stacklevel=1)
                fail()
        except ConnectionError as error:
            report_card(rec, passed=str(error))


if __name__ == "__main__":
    main(sys.argv[1])
