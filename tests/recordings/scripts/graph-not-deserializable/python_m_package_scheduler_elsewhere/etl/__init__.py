"""Nightly ETL."""
