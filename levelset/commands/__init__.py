"""One module a command group, each with `add_parser(subparsers)`.

A group is imported when it is asked for, so that `levelset app get` does not pay for the demo.
"""

GROUPS = {
    "app": "look at Applications, compare them with Git, sync them, wait for them",
    "cluster": "a real Kubernetes on this machine: up, down, status, load-image, kubeconfig",
    "demo": "one push to Git all the way to running, verified, measured pods",
    "exec": "run a command in a ready pod of a Rollout's newest revision",
    "logs": "the logs of all pods of a Rollout, merged; with -f, of those to come, too",
    "rollout": "look at a Rollout's progress and history, undo, pause, resume, restart, retry",
    "tools": "the programs that the embedded cluster is made of: list, install",
    "trace": "where the time of a Rollout's last change went, and what is slow or stuck",
}
