"""What stands around a cluster: a git server, an SSH server, an image registry, Prometheus, image signing.

Each is the real program under a small handle: `async with X.start(state_dir, …) as x:` starts it on a free port,
waits until it answers, and ends it by its own pid. The demo and the contract tests use them; nothing else may.
"""
