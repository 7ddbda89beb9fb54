"""A task in a container as Kubernetes runs them: read-only root, small /tmp, random uid, no home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dask_blackbox.testing import embedded_s3

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(600),  # two Airflows without bytecode, on a busy machine
    pytest.mark.skipif(
        os.geteuid() != 0
        or not (shutil.which("unshare") and shutil.which("setpriv"))
        or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0,
        reason="needs root, and mounts of its own",
    ),
]

# Only /tmp can be written to, as an emptyDir volume; whoever runs may read everything, as
# the interpreter may lie where only root may look.
CONTAINER = """
set -e
mount --make-rprivate /
mount --bind "$PROJECT" /mnt
mount -t tmpfs -o mode=1777,size=32m tmpfs /tmp
case "$PROJECT" in
    /tmp/*) mkdir -p "$PROJECT"; mount --move /mnt "$PROJECT" ;;
    *) umount /mnt ;;
esac
mount -o remount,bind,ro /
cd /
exec setpriv --reuid 1000790000 --regid 0 --clear-groups \
    --inh-caps -all,+dac_read_search --ambient-caps -all,+dac_read_search \
    --bounding-set -all,+dac_read_search "$@"
"""

TASK = """
import os, pathlib, sys
home = pathlib.Path("/tmp/of-the-pod")
(home / "dags").mkdir(parents=True)
for place in ("/", "/var/tmp", os.environ["HOME"], "/dev/null/x"):
    try:
        pathlib.Path(place, "written").write_text("")
    except OSError:
        continue
    sys.exit(f"{place} can be written to")
(home / "dags" / "pod.py").write_text('''
from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

def work(client):
    import os
    return sum(client.gather(client.map(abs, range(20)))), os.getuid()

with DAG("pod"):
    DaskObservedOperator(
        task_id="work", python_callable=work,
        cluster_kwargs={"n_workers": 1, "threads_per_worker": 1})
''')
from airflow.utils.db import initdb
initdb()
try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:
    from airflow.models.dagbag import DagBag
bag = DagBag(str(home / "dags" / "pod.py"))
assert bag.import_errors == {}
(ti,) = bag.dags["pod"].test().get_task_instances()
print("state:", ti.state)

# The API server, in a container of the same kind.
from airflow.api_fastapi.app import create_app, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow_dask_blackbox.addresses import TaskKey, page_of
from starlette.testclient import TestClient

app = create_app(apps="core")
user = SimpleAuthManagerUser(username="ada", role="viewer")
token = get_auth_manager().generate_jwt(user)
client = TestClient(app, base_url="http://airflow.example")
for page, holds in (
    ("task", "<iframe"), ("report.html", "pod.work"), ("performance_report.html", "Bokeh")
):
    answer = client.get(
        page_of(TaskKey.of(ti), page), headers={"Authorization": f"Bearer {token}"}
    )
    print(f"{page}:", answer.status_code, holds in answer.text)
"""


def test_a_task_of_a_random_user_without_a_home_records_into_a_bucket() -> None:
    with embedded_s3() as s3:
        environ = {
            "PATH": os.environ["PATH"],
            # It, with its environments, may lie in the folder that is hidden.
            "PROJECT": str(Path(__file__).parents[2]),
            **s3.environment,
            "HOME": "/nonexistent",
            # As the entrypoint of Airflow's image gives such a user a name.
            "LOGNAME": "default",
            "AIRFLOW_HOME": "/tmp/of-the-pod",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__API_AUTH__JWT_SECRET": "of-tests-only" * 6,
            "AIRFLOW__CORE__DAGS_FOLDER": "/tmp/of-the-pod/dags",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "sqlite:////tmp/of-the-pod/airflow.db",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", CONTAINER, "sh", sys.executable, "-c", TASK],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        assert "state: success" in said, said[-4000:]
        for page in ("task", "report.html", "performance_report.html"):
            assert f"{page}: 200 True" in said, said[-4000:]

        client = s3.client()
        listed = client.list_objects_v2(Bucket=s3.bucket)["Contents"]
        (key,) = [each["Key"] for each in listed if each["Key"].endswith("card.json")]
        card = json.loads(client.get_object(Bucket=s3.bucket, Key=key)["Body"].read())

    assert card["state"] == "succeeded"
    assert card["completeness"]["complete"]
    assert card["numbers"]["tasks"] == 20
