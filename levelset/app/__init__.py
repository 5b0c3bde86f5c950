"""What `levelset app` does: read, compare, ask for a sync, wait."""
