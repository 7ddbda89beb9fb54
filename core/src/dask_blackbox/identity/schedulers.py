"""Schedulers that are known by name: one row for each, in the order in which they are asked.

Which job a process is, only its environment says.  Rows that start single tasks stand before
rows that start whole jobs, and those before what these run on: an Airflow task in a Slurm job
is Airflow's, a GitHub runner in a pod is GitHub's.  The first row that names the job or the run
decides; the others are recorded beside it as `within`.
How to add one: docs/add-a-scheduler.md.
"""

from __future__ import annotations

from typing import Final

from dask_blackbox.identity import derived
from dask_blackbox.identity.scheduler import Scheduler

__all__ = ["SCHEDULERS"]

# Orchestrators: they start single tasks.
_ORCHESTRATORS = (
    Scheduler(
        kind="airflow",
        source="https://airflow.apache.org/docs/apache-airflow/stable/howto/operator/bash.html",
        known_by=("dag", "task", "run"),
        derive=derived.airflow,
        job=("{dag}.{task}",),
        run=("{run}.map{instance}", "{run}"),
        attempt="try",
        link=(
            "{page}",
            (
                "{AIRFLOW__API__BASE_URL|origin}/dags/{dag|quoted}/runs/{run|quoted}"
                "/tasks/{task|quoted}"
            ),
        ),
        facts={
            "dag_id": "{dag}",
            "task_id": "{task}",
            "run_id": "{run}",
            "map_index": "{instance}",
            "owner": "{AIRFLOW_CTX_DAG_OWNER}",
            "logical_date": "{AIRFLOW_CTX_LOGICAL_DATE}",
            "traceparent": "{trace}",
        },
        script=False,
    ),
    Scheduler(
        kind="prefect",
        source="https://docs.prefect.io/v3/api-ref/python/prefect-flow_engine",
        known_by=("PREFECT__FLOW_RUN_ID",),
        derive=derived.prefect,
        job=("{flow}",),
        run=("{PREFECT__FLOW_RUN_ID}",),
        link=("{ui}/runs/flow-run/{PREFECT__FLOW_RUN_ID}",),
        facts={
            "flow": "{flow}",
            "deployment": "{PREFECT__DEPLOYMENT_NAME}",
            "worker": "{PREFECT__WORKER_NAME}",
        },
        script=False,
    ),
    Scheduler(
        kind="flyte",
        source="https://github.com/flyteorg/flytekit/blob/master/flytekit/bin/entrypoint.py",
        known_by=("FLYTE_INTERNAL_EXECUTION_ID",),
        job=(
            "{FLYTE_INTERNAL_EXECUTION_WORKFLOW|last}",
            "{FLYTE_INTERNAL_TASK_NAME|last}",
        ),
        run=("{FLYTE_INTERNAL_EXECUTION_ID}",),
        attempt="FLYTE_ATTEMPT_NUMBER",
        first=0,
        link=("{FLYTE_EXECUTION_URL}",),
        facts={
            "project": "{FLYTE_INTERNAL_EXECUTION_PROJECT}",
            "domain": "{FLYTE_INTERNAL_EXECUTION_DOMAIN}",
            "workflow": "{FLYTE_INTERNAL_EXECUTION_WORKFLOW}",
            "task": "{FLYTE_INTERNAL_TASK_NAME}",
        },
        script=False,
    ),
    Scheduler(
        kind="dagster",
        source="https://github.com/dagster-io/dagster/blob/master/python_modules/libraries/dagster-k8s/dagster_k8s/launcher.py",
        known_by=("DAGSTER_RUN_JOB_NAME",),
        derive=derived.dagster,
        job=("{DAGSTER_RUN_JOB_NAME}", "{DAGSTER_RUN_STEP_KEY}"),
        run=("{run}",),
        facts={"pod": "{HOSTNAME}"},
        script=False,
    ),
    Scheduler(
        kind="metaflow",
        source="https://github.com/Netflix/metaflow/blob/master/metaflow/plugins/argo/argo_workflows.py",
        known_by=("METAFLOW_FLOW_NAME", "METAFLOW_RUN_ID"),
        job=("{METAFLOW_FLOW_NAME}", "{METAFLOW_STEP_NAME}"),
        run=("{METAFLOW_RUN_ID}.{METAFLOW_TASK_ID}", "{METAFLOW_RUN_ID}"),
        attempt="METAFLOW_RETRY_COUNT",
        first=0,
        script=False,
    ),
    Scheduler(
        kind="kubeflow",  # runs on Argo
        source="https://www.kubeflow.org/docs/components/pipelines/reference/",
        known_by=("known",),
        derive=derived.kubeflow,
        job=("{pipeline}", "{part}"),
        run=("{KFP_RUN_ID}", "{workflow}"),
        facts={
            "workflow": "{workflow}",
            "pod": "{KFP_POD_NAME}",
            "component": "{component}",
        },
        script=False,
    ),
    Scheduler(
        kind="argo",
        source="https://argo-workflows.readthedocs.io/en/latest/environment-variables/",
        known_by=("ARGO_NODE_ID",),
        derive=derived.argo,
        job=("{workflow|stable}", "{template}"),
        run=("{ARGO_NODE_ID}",),
        facts={
            "workflow": "{workflow}",
            "template": "{template}",
            "pod": "{HOSTNAME}",
        },
        script=False,
    ),
)

# CI services.
_CI = (
    Scheduler(
        kind="github",
        # Of the legs of a matrix: https://github.com/actions/runner/pull/4178
        source="https://docs.github.com/en/actions/reference/workflows-and-actions/variables",
        known_by=("GITHUB_ACTIONS=true", "GITHUB_RUN_ID"),
        derive=derived.github,
        job=("{GITHUB_WORKFLOW}", "{GITHUB_JOB}"),
        run=("{GITHUB_RUN_ID}",),
        attempt="GITHUB_RUN_ATTEMPT",
        leg=("{leg}",),
        link=(
            (
                "{GITHUB_SERVER_URL|origin}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}"
                "/attempts/{GITHUB_RUN_ATTEMPT}"
            ),
        ),
        facts={
            "repository": "{GITHUB_REPOSITORY}",
            "commit": "{GITHUB_SHA}",
            "ref": "{GITHUB_REF}",
            "event": "{GITHUB_EVENT_NAME}",
            "step": "{GITHUB_ACTION}",
        },
    ),
    Scheduler(
        kind="gitlab",  # 19.3 or newer: a retry has a new id in the same pipeline
        source="https://docs.gitlab.com/ci/variables/predefined_variables/",
        known_by=("GITLAB_CI", "CI_PIPELINE_ID", "CI_JOB_RETRY_COUNT"),
        job=("{CI_PROJECT_PATH|last}", "{CI_JOB_NAME}"),
        run=("{CI_PIPELINE_ID}",),
        attempt="CI_JOB_RETRY_COUNT",
        first=0,
        link=("{CI_JOB_URL}",),
        facts={
            "project": "{CI_PROJECT_PATH}",
            "pipeline": "{CI_PIPELINE_ID}",
            "job": "{CI_JOB_ID}",
            "commit": "{CI_COMMIT_SHA}",
            "ref": "{CI_COMMIT_REF_NAME}",
        },
    ),
    Scheduler(
        kind="gitlab",  # older: nothing says that a job is a retry
        source="https://docs.gitlab.com/ci/variables/predefined_variables/",
        known_by=("GITLAB_CI", "CI_JOB_ID"),
        job=("{CI_PROJECT_PATH|last}", "{CI_JOB_NAME}"),
        run=("{CI_JOB_ID}",),
        link=("{CI_JOB_URL}",),
        facts={
            "project": "{CI_PROJECT_PATH}",
            "pipeline": "{CI_PIPELINE_ID}",
            "commit": "{CI_COMMIT_SHA}",
            "ref": "{CI_COMMIT_REF_NAME}",
        },
    ),
    Scheduler(
        kind="azure-pipelines",
        source="https://learn.microsoft.com/en-us/azure/devops/pipelines/build/variables",
        known_by=("TF_BUILD", "BUILD_BUILDID"),
        derive=derived.azure,
        job=("{BUILD_DEFINITIONNAME}", "{SYSTEM_PHASENAME}"),
        run=("{BUILD_BUILDID}",),
        attempt="SYSTEM_JOBATTEMPT",
        leg=("{leg}",),
        link=(
            (
                "{SYSTEM_COLLECTIONURI|origin}/{SYSTEM_TEAMPROJECT|quoted}/_build/results"
                "?buildId={BUILD_BUILDID}"
            ),
        ),
        facts={
            "repository": "{BUILD_REPOSITORY_NAME}",
            "commit": "{BUILD_SOURCEVERSION}",
            "ref": "{BUILD_SOURCEBRANCH}",
            "stage": "{SYSTEM_STAGENAME}",
        },
    ),
    Scheduler(
        kind="buildkite",
        source="https://buildkite.com/docs/pipelines/configure/environment-variables",
        known_by=("BUILDKITE=true", "BUILDKITE_BUILD_NUMBER"),
        # The label differs from leg to leg of a matrix; the key does not.
        job=("{BUILDKITE_PIPELINE_SLUG}", "{BUILDKITE_STEP_KEY}", "{BUILDKITE_LABEL}"),
        run=(
            "{BUILDKITE_BUILD_NUMBER}_{BUILDKITE_PARALLEL_JOB}",
            "{BUILDKITE_BUILD_NUMBER}",
        ),
        attempt="BUILDKITE_RETRY_COUNT",
        first=0,
        link=("{BUILDKITE_BUILD_URL}#{BUILDKITE_JOB_ID}", "{BUILDKITE_BUILD_URL}"),
        facts={
            "commit": "{BUILDKITE_COMMIT}",
            "ref": "{BUILDKITE_BRANCH}",
            "agent": "{BUILDKITE_AGENT_NAME}",
        },
    ),
    Scheduler(
        kind="circleci",  # a rerun is a new job in a new workflow
        source="https://circleci.com/docs/reference/variables/",
        known_by=("CIRCLECI=true", "CIRCLE_BUILD_NUM"),
        derive=derived.circle,
        job=("{CIRCLE_PROJECT_REPONAME}", "{CIRCLE_JOB}"),
        run=("{CIRCLE_BUILD_NUM}_{node}", "{CIRCLE_BUILD_NUM}"),
        link=("{CIRCLE_BUILD_URL}",),
        facts={
            "workflow": "{CIRCLE_WORKFLOW_ID}",
            "commit": "{CIRCLE_SHA1}",
            "ref": "{CIRCLE_BRANCH}",
        },
    ),
    Scheduler(
        kind="bitbucket",
        source="https://support.atlassian.com/bitbucket-cloud/docs/variables-and-secrets/",
        known_by=("BITBUCKET_BUILD_NUMBER", "BITBUCKET_REPO_SLUG"),
        job=("{BITBUCKET_REPO_SLUG}",),
        run=("{BITBUCKET_BUILD_NUMBER}",),
        attempt="BITBUCKET_STEP_RUN_NUMBER",
        leg=("step{BITBUCKET_PARALLEL_STEP}",),
        link=(
            (
                "{BITBUCKET_GIT_HTTP_ORIGIN|origin}/pipelines/results/"
                "{BITBUCKET_BUILD_NUMBER}"
            ),
        ),
        facts={
            "repository": "{BITBUCKET_REPO_FULL_NAME}",
            "commit": "{BITBUCKET_COMMIT}",
            "ref": "{BITBUCKET_BRANCH}",
            "step": "{BITBUCKET_STEP_UUID|uuid}",
        },
    ),
    Scheduler(
        kind="codebuild",  # a retry is a new build
        source="https://docs.aws.amazon.com/codebuild/latest/userguide/build-env-ref-env-vars.html",
        known_by=("CODEBUILD_BUILD_ID",),
        derive=derived.codebuild,
        job=("{project}",),
        run=("{CODEBUILD_BUILD_ID|last}",),
        leg=("{CODEBUILD_BATCH_BUILD_IDENTIFIER}",),
        link=("{CODEBUILD_PUBLIC_BUILD_URL}",),
        facts={
            "build": "{CODEBUILD_BUILD_ID}",
            "commit": "{CODEBUILD_RESOLVED_SOURCE_VERSION}",
            "initiator": "{CODEBUILD_INITIATOR}",
        },
    ),
    Scheduler(
        kind="drone",  # and Harness; a restart is a new build
        source="https://docs.drone.io/pipeline/environment/reference",
        known_by=("DRONE=true", "DRONE_BUILD_NUMBER"),
        job=("{DRONE_REPO_NAME}", "{DRONE_STAGE_NAME}", "{DRONE_STEP_NAME}"),
        run=("{DRONE_BUILD_NUMBER}",),
        link=("{DRONE_BUILD_LINK}",),
        facts={
            "repository": "{DRONE_REPO}",
            "commit": "{DRONE_COMMIT_SHA}",
            "ref": "{DRONE_BRANCH}",
        },
    ),
    Scheduler(
        kind="woodpecker",  # a restart is a new pipeline; a leg of a matrix a workflow
        source="https://woodpecker-ci.org/docs/usage/environment",
        known_by=("CI=woodpecker", "CI_PIPELINE_NUMBER"),
        job=("{CI_REPO_NAME}", "{CI_WORKFLOW_NAME}", "{CI_STEP_NAME}"),
        run=("{CI_PIPELINE_NUMBER}.{CI_WORKFLOW_NUMBER}", "{CI_PIPELINE_NUMBER}"),
        link=("{CI_STEP_URL}", "{CI_PIPELINE_URL}"),
        facts={
            "repository": "{CI_REPO}",
            "commit": "{CI_COMMIT_SHA}",
            "ref": "{CI_COMMIT_REF}",
        },
    ),
    Scheduler(
        kind="semaphore",  # a job that runs again has a new id
        source="https://github.com/semaphoreio/semaphore/blob/main/docs/docs/reference/env-vars.md",
        known_by=("SEMAPHORE=true", "SEMAPHORE_JOB_ID"),
        job=(
            "{SEMAPHORE_PROJECT_NAME}",
            "{SEMAPHORE_BLOCK_NAME}",
            "{SEMAPHORE_JOB_NAME}",
        ),
        run=("{SEMAPHORE_JOB_ID}",),
        link=("{SEMAPHORE_ORGANIZATION_URL|origin}/jobs/{SEMAPHORE_JOB_ID}",),
        facts={
            "workflow": "{SEMAPHORE_WORKFLOW_ID}",
            "pipeline": "{SEMAPHORE_PIPELINE_ID}",
            "commit": "{SEMAPHORE_GIT_SHA}",
            "ref": "{SEMAPHORE_GIT_REF}",
        },
    ),
    Scheduler(
        kind="gocd",  # a stage that runs again counts itself; one of several instances is a job
        source="https://docs.gocd.org/current/faq/dev_use_current_revision_in_build.html",
        known_by=("GO_PIPELINE_NAME", "GO_PIPELINE_COUNTER", "GO_STAGE_NAME"),
        job=("{GO_PIPELINE_NAME}", "{GO_STAGE_NAME}", "{GO_JOB_NAME}"),
        run=("{GO_PIPELINE_COUNTER}",),
        attempt="GO_STAGE_COUNTER",
        link=(
            (
                "{GO_SERVER_URL|origin}/tab/build/detail/{GO_PIPELINE_NAME|quoted}"
                "/{GO_PIPELINE_COUNTER}/{GO_STAGE_NAME|quoted}/{GO_STAGE_COUNTER}"
                "/{GO_JOB_NAME|quoted}"
            ),
        ),
        facts={"commit": "{GO_REVISION}", "by": "{GO_TRIGGER_USER}"},
    ),
    Scheduler(
        kind="bamboo",
        source="https://confluence.atlassian.com/bamboo/bamboo-variables-289277087.html",
        known_by=("bamboo_planKey", "bamboo_buildResultKey"),
        job=("{bamboo_shortPlanName}", "{bamboo_shortJobName}"),
        run=("{bamboo_buildResultKey}",),
        link=("{bamboo_buildResultsUrl}", "{bamboo_resultsUrl}"),
        facts={"plan": "{bamboo_planKey}"},
    ),
    Scheduler(
        kind="teamcity",
        source="https://www.jetbrains.com/help/teamcity/predefined-build-parameters.html",
        known_by=("TEAMCITY_VERSION", "BUILD_NUMBER"),
        job=("{TEAMCITY_PROJECT_NAME}", "{TEAMCITY_BUILDCONF_NAME}"),
        run=("{BUILD_NUMBER}",),
        link=("{BUILD_URL}",),
        facts={"commit": "{BUILD_VCS_NUMBER}"},
    ),
    Scheduler(
        kind="jenkins",
        source="https://www.jenkins.io/doc/book/pipeline/jenkinsfile/#using-environment-variables",
        known_by=("JENKINS_URL", "JOB_NAME", "BUILD_NUMBER"),
        job=("{JOB_NAME}",),
        run=("{BUILD_NUMBER}",),
        link=("{BUILD_URL}",),
        facts={"node": "{NODE_NAME}", "commit": "{GIT_COMMIT}"},
    ),
)

# Batch systems and jobs of clouds: they start whole jobs.
_BATCH = (
    Scheduler(
        kind="slurm",  # a requeued job keeps its id
        source="https://slurm.schedmd.com/sbatch.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES",
        known_by=("SLURM_JOB_ID",),
        job=("{SLURM_JOB_NAME}",),
        run=("{SLURM_ARRAY_JOB_ID}_{SLURM_ARRAY_TASK_ID}", "{SLURM_JOB_ID}"),
        attempt="SLURM_RESTART_COUNT",
        first=0,
        facts={
            "job_id": "{SLURM_JOB_ID}",
            "cluster": "{SLURM_CLUSTER_NAME}",
            "partition": "{SLURM_JOB_PARTITION}",
            "submitted_from": "{SLURM_SUBMIT_DIR}",
        },
    ),
    Scheduler(
        kind="pbs",
        source="https://2021.help.altair.com/2021.1.2/PBS%20Professional/PBSUserGuide2021.1.2.pdf",
        known_by=("PBS_JOBID",),
        job=("{PBS_JOBNAME}",),
        run=("{PBS_JOBID}",),  # of an array: 1234[7].server
        facts={
            "job_id": "{PBS_JOBID}",
            "queue": "{PBS_QUEUE}",
            "submitted_from": "{PBS_O_WORKDIR}",
        },
    ),
    Scheduler(
        kind="lsf",
        source="https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=variables-environment-set-job-execution",
        known_by=("LSB_JOBID",),
        derive=derived.lsf,
        job=("{name}",),
        run=("{LSB_JOBID}_{index}", "{LSB_JOBID}"),
        attempt="restarts",
        first=0,
        facts={
            "job_id": "{LSB_JOBID}",
            "queue": "{LSB_QUEUE}",
            "submitted_from": "{LS_SUBCWD}",
        },
    ),
    Scheduler(
        kind="sge",
        source="https://manpages.ubuntu.com/manpages/bionic/man1/sge_submit.1.html",
        known_by=("JOB_ID", "SGE_TASK_ID"),
        derive=derived.grid_engine,
        job=("{JOB_NAME}",),
        run=("{JOB_ID}_{task}", "{JOB_ID}"),
        attempt="RESTARTED",
        first=0,
        facts={
            "job_id": "{JOB_ID}",
            "queue": "{QUEUE}",
            "submitted_from": "{SGE_O_WORKDIR}",
        },
    ),
    Scheduler(
        kind="oar",
        source="https://oar.imag.fr/docs/latest/user/commands/oarsub.html",
        known_by=("OAR_JOB_ID",),
        job=("{OAR_JOB_NAME}",),
        run=("{OAR_JOB_ID}",),  # each job of an array has its own
        facts={"job_id": "{OAR_JOB_ID}", "array_id": "{OAR_ARRAY_ID}"},
    ),
    Scheduler(
        kind="htcondor",
        source="https://htcondor.readthedocs.io/en/latest/users-manual/env-of-job.html",
        known_by=("_CONDOR_JOB_AD",),
        derive=derived.condor,
        job=("{name}",),
        run=("{run}",),
        attempt="starts",
        facts={"job_id": "{run}", "owner": "{owner}"},
    ),
    Scheduler(
        kind="aws-batch",  # runs on ECS or Kubernetes; the name of the job is not told
        source="https://docs.aws.amazon.com/batch/latest/userguide/job_env_vars.html",
        known_by=("AWS_BATCH_JOB_ID",),
        run=("{AWS_BATCH_JOB_ID}",),  # of an array: <id>:<index>
        attempt="AWS_BATCH_JOB_ATTEMPT",
        facts={
            "job_id": "{AWS_BATCH_JOB_ID}",
            "queue": "{AWS_BATCH_JQ_NAME}",
            "compute_environment": "{AWS_BATCH_CE_NAME}",
        },
    ),
    Scheduler(
        kind="cloud-run",
        source="https://cloud.google.com/run/docs/container-contract#jobs-env-vars",
        known_by=("CLOUD_RUN_JOB", "CLOUD_RUN_EXECUTION"),
        derive=derived.cloud_run,
        job=("{CLOUD_RUN_JOB}",),
        run=("{CLOUD_RUN_EXECUTION}_{task}", "{CLOUD_RUN_EXECUTION}"),
        attempt="CLOUD_RUN_TASK_ATTEMPT",
        first=0,
        facts={"execution": "{CLOUD_RUN_EXECUTION}"},
    ),
    Scheduler(
        kind="azure-batch",  # a job is a collection of tasks, and often a new one each night
        source="https://learn.microsoft.com/en-us/azure/batch/batch-compute-node-environment-variables",
        known_by=("AZ_BATCH_JOB_ID", "AZ_BATCH_TASK_ID"),
        run=("{AZ_BATCH_JOB_ID}.{AZ_BATCH_TASK_ID}",),
        facts={
            "job_id": "{AZ_BATCH_JOB_ID}",
            "task_id": "{AZ_BATCH_TASK_ID}",
            "pool": "{AZ_BATCH_POOL_ID}",
            "node": "{AZ_BATCH_NODE_ID}",
        },
    ),
    Scheduler(
        kind="rundeck",  # a retry is an execution of its own
        source="https://docs.rundeck.com/docs/manual/jobs/job-variables.html",
        known_by=("RD_JOB_NAME", "RD_JOB_EXECID"),
        job=("{RD_JOB_PROJECT}", "{RD_JOB_NAME}"),
        run=("{RD_JOB_EXECID}",),
        link=("{RD_JOB_URL}",),
        facts={"group": "{RD_JOB_GROUP}", "by": "{RD_JOB_USERNAME}"},
    ),
    Scheduler(
        kind="coiled",  # a batch job; the name of its cluster is another one each time
        source="https://docs.coiled.io/user_guide/batch.html",
        known_by=("COILED_BATCH_TASK_ID", "COILED_CLUSTER_ID"),
        run=("{COILED_CLUSTER_ID}_{COILED_BATCH_TASK_ID}",),
        facts={
            "cluster_id": "{COILED_CLUSTER_ID}",
            "cluster": "{COILED_CLUSTER_NAME}",
            "workspace": "{COILED_WORKSPACE_SLUG}",
            "instance": "{COILED_INSTANCE_ID}",
        },
    ),
    Scheduler(
        kind="sagemaker",
        source="https://docs.aws.amazon.com/sagemaker/latest/dg/build-your-own-processing-container.html",
        known_by=("job",),
        derive=derived.sagemaker,
        job=("{job|stable}",),
        run=("{job}",),
        facts={"job": "{job}", "arn": "{TRAINING_JOB_ARN}"},
    ),
)

# What all of the above may run on.
_PLATFORMS = (
    Scheduler(
        kind="databricks",  # job and run are parameters there: docs/add-a-scheduler.md
        source="https://docs.databricks.com/aws/en/init-scripts/environment-variables",
        known_by=("DATABRICKS_RUNTIME_VERSION",),
        facts={
            "runtime": "{DATABRICKS_RUNTIME_VERSION}",
            "cluster_id": "{DB_CLUSTER_ID}",
            "cluster": "{DB_CLUSTER_NAME}",
        },
    ),
    Scheduler(
        kind="ecs",
        source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-metadata.html",
        known_by=("address",),
        derive=derived.ecs,
        job=("{family}",),
        run=("{task}",),
        facts={"cluster": "{cluster|last}", "task": "{task}"},
    ),
    Scheduler(
        kind="kubernetes",  # a container that is started again has the same pod
        source="https://kubernetes.io/docs/concepts/workloads/controllers/",
        known_by=("pod",),
        derive=derived.kubernetes,
        job=("{owner}",),
        run=("{run}",),
        facts={
            "pod": "{pod}",
            "namespace": "{namespace}",
            "scheduled": "{minute}",
            "index": "{JOB_COMPLETION_INDEX}",
        },
        script=False,
    ),
    Scheduler(
        kind="systemd",
        source="https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Environment%20Variables%20Set%20or%20Propagated%20by%20the%20Service%20Manager",
        known_by=("unit",),
        derive=derived.systemd,
        job=("{unit}",),
        run=("{INVOCATION_ID}",),
        facts={"unit": "{whole}", "timer": "{TRIGGER_UNIT}"},
        script=False,
    ),
)

SCHEDULERS: Final = (*_ORCHESTRATORS, *_CI, *_BATCH, *_PLATFORMS)
"""All rows, in the order in which they are asked."""
