"""`levelset trace`: where the time of the last change of a Rollout went, pod by pod."""

# ruff: noqa: A005 - only reachable as levelset.trace, so nothing is shadowed
