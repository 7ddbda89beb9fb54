"""What capture does in a nanny's process, or beside a worker without a nanny."""
