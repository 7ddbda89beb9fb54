"""What capture does in a worker's process."""
