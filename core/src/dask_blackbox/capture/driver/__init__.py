"""What capture does in the driver's process."""
