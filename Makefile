# Python 3.11+, git and make are enough; everything else comes into .tools/ and .venvs/.

.DEFAULT_GOAL := help
.PHONY: help demo test lint format environments clean

UV := tools/uv

help:  ## Say what can be made
	@awk -F ':.*  ## ' '/^[a-z]+:.*  ## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venvs/core/.synced .venvs/airflow/.synced .venvs/prefect/.synced  ## Two stories in a real Airflow and a real Prefect, recorded into S3 (KEEP=1: leave them up)
	@.venvs/core/bin/python demo/run.py $(if $(KEEP),--keep)

test: environments  ## All tests, each suite in its own environment
	@.venvs/core/bin/python tools/suites.py

lint: environments  ## Format, lint, types (each member in its own environment), architecture
	@.venvs/core/bin/python tools/lint.py

format: .venvs/lint/.synced  ## Format, and mend what can be mended
	.venvs/lint/bin/ruff format
	.venvs/lint/bin/ruff check --fix

environments: .venvs/core/.synced .venvs/airflow/.synced .venvs/prefect/.synced .venvs/lint/.synced  ## Bring everything that is needed

# The two hosts cannot live in one environment (docs/decisions/0001), so there is one each.
.venvs/core/.synced: package = --package dask-blackbox --group dev
.venvs/airflow/.synced: package = --package airflow-provider-dask-blackbox --group dev
.venvs/prefect/.synced: package = --package prefect-dask-blackbox --group dev
.venvs/lint/.synced: package = --group lint

.venvs/%/.synced: uv.lock pyproject.toml core/pyproject.toml airflow_provider/pyproject.toml prefect_collection/pyproject.toml
	@echo "environment $*"
	@UV_PROJECT_ENVIRONMENT=.venvs/$* $(UV) sync --quiet --locked $(package)
	@touch $@

clean:  ## Remove what was made
	rm -rf .venvs .tools .demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
