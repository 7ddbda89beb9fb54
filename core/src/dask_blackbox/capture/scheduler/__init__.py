"""Capture in the scheduler's process."""
