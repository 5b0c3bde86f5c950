"""Push webhooks: a signed hint that a repository has changed, never a source of anything else."""
