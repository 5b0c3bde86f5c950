"""`levelset rollout`, and what `logs`, `exec` and `trace` share with it: finding a Rollout's own."""
