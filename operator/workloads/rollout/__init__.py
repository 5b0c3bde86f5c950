"""The Rollout: a PodSet per revision of a template, and the way from one to the next."""
