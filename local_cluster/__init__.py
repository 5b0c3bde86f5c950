"""A real Kubernetes on this machine, for the demo, development and tests; never for production.

Programs are found or built by `local_cluster.tools`; `control_plane` is etcd and an API server,
`embedded` adds nodes around it. Called by `levelset cluster`, the demo and tests/conftest.py.
Everything that is started is ended by its own pid, and the host's firewall is never touched.
"""
