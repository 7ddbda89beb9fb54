"""Day-end closing of the ledger."""
