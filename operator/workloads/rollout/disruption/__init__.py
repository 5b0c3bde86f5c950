"""The PodDisruptionBudget of a Rollout, and which budget keeps a drain waiting.

docs/design/008-disruption.md tells why it is done this way. `keeper` is the way in.
"""
