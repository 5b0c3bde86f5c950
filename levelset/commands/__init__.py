"""One module a command group, each with `add_parser(subparsers)`.

A group is imported when it is asked for, so that `levelset app get` does not pay for the demo.
"""

GROUPS = {
    "app": "look at Applications, compare them with Git, sync them, wait for them",
    "cluster": "a real Kubernetes on this machine: up, down, status, load-image, kubeconfig",
    "demo": "one push to Git all the way to running, verified, measured pods",
    "tools": "the programs that the embedded cluster is made of: list, install",
}
