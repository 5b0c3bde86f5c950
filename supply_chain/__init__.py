"""Image policies: only images that the right people signed may run.

The admission webhook asks `admission.judge` about every image of a pod or a pod template;
the judge asks `plan` (pure rules), `registry` (signatures) and `verify` (cryptography).
Other parts never import this one: they meet it as an admission webhook, in a dry run or a write.
"""
