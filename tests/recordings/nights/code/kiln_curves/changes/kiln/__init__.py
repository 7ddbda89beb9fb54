"""Helpers of the kiln jobs."""
