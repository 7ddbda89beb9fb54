# Python 3.11+, git and make are enough; everything else comes into .tools/ and .venvs/.

.DEFAULT_GOAL := help
.PHONY: help demo test snapshots test-all test-changed lint metrics docs audit sbom screenshots format environments clean

UV := tools/uv

# Tests start hundreds of processes: without byte code, each compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

help:  ## List the targets
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venvs/core/.synced .venvs/airflow/.synced .venvs/prefect/.synced  ## Two runs in a real Airflow and a real Prefect, recorded into S3 (KEEP=1: keep the servers running)
	@.venvs/core/bin/python demo/run.py $(if $(KEEP),--keep)

test: environments  ## All tests that protect a change, each suite in its own environment
	@.venvs/core/bin/python tools/suites.py

test-all: environments  ## Those, and the tests marked nightly: what runs each night
	@.venvs/core/bin/python tools/suites.py --all

test-changed: environments  ## Those of make test that the changes since main can reach
	@.venvs/core/bin/python tools/suites.py --changed

snapshots: .venvs/core/.synced  ## Write the snapshots of the cards of kept recordings anew, after a change that is meant
	@.venvs/core/bin/python -m pytest -q --snapshot-update tests/core/test_kept_recordings.py::test_the_card

lint: environments  ## Format, lint, types (each member in its own environment), architecture
	@.venvs/core/bin/python tools/lint.py

metrics: .venvs/lint/.synced  ## Print lines, modules, functions, decisions, Any and import cycles of each distribution
	@.venvs/lint/bin/python tools/metrics.py

docs: .venvs/docs/.synced  ## Build the documentation into .site/; a broken link is an error
	.venvs/docs/bin/mkdocs build --quiet --strict

# What users install, with all versions that the lock has; `testing` and `demo` are for tests.
PUBLISHED := dask-blackbox airflow-provider-dask-blackbox prefect-dask-blackbox
export = $(UV) export --quiet --locked --no-dev --extra s3 --extra serve --package

audit: .venvs/audit/.synced  ## Check the workflows, and the locked dependencies for known vulnerabilities
	.venvs/audit/bin/zizmor --no-online-audits .github
	@mkdir -p .audit
	@for each in $(PUBLISHED); do \
		echo "pip-audit $$each"; \
		$(export) $$each --no-emit-workspace --format requirements.txt --output-file .audit/$$each.txt >.audit/log && \
		.venvs/audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement .audit/$$each.txt || exit 1; \
	done

sbom: uv.lock  ## Write what each distribution brings with it (CycloneDX) into .sbom/
	@mkdir -p .sbom
	@for each in $(PUBLISHED); do \
		$(export) $$each --preview-features sbom-export --format cyclonedx1.5 --output-file .sbom/$$each.cdx.json >.sbom/log || exit 1; \
	done

screenshots: environments  ## Make the pictures of the README in docs/images (starts Airflow, Prefect and Chromium)
	.venvs/core/bin/python tools/screenshot.py
	.venvs/prefect/bin/python tools/prefect_screenshots.py --readme
	.venvs/core/bin/python -m pytest -q tests/end_to_end/test_airflow_tab.py -k button_on_details
	cp .screenshots/airflow-failed-1500-light.png docs/images/airflow-task.png

format: .venvs/lint/.synced  ## Format, and apply automatic fixes
	.venvs/lint/bin/ruff format
	.venvs/lint/bin/ruff check --fix

environments: .venvs/core/.synced .venvs/airflow/.synced .venvs/prefect/.synced .venvs/lint/.synced  ## Install all environments

# The two hosts cannot live in one environment (docs/decisions/0001), so there is one each.
# Ten processes of tests begin with the core's at once: each would compile all that it imports.
.venvs/core/.synced: package = --package dask-blackbox --group dev --compile-bytecode
.venvs/airflow/.synced: package = --package airflow-provider-dask-blackbox --group dev
.venvs/prefect/.synced: package = --package prefect-dask-blackbox --group dev
.venvs/lint/.synced: package = --group lint
.venvs/docs/.synced: package = --group docs
.venvs/audit/.synced: package = --group audit

.venvs/%/.synced: uv.lock pyproject.toml core/pyproject.toml airflow_provider/pyproject.toml prefect_collection/pyproject.toml failure_benchmark/pyproject.toml
	@echo "environment $*"
	@UV_PROJECT_ENVIRONMENT=.venvs/$* $(UV) sync --quiet --locked $(package)
	@touch $@

clean:  ## Remove generated files
	rm -rf .venvs .tools .demo .site .audit .sbom dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
