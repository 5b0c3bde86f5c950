"""PodSet and Rollout: the ReplicaSet and the Deployment, as custom resources.

`python -m workloads` runs both controllers; each kind has a folder with the same rooms
(resources, plan, status, reconciler). Nothing is registered or started at import time.
"""
