"""What capture does in the scheduler's process."""
