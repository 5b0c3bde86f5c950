"""What the cluster would look like after a sync, and how that differs from how it looks now.

One merge, driven by the cluster's own schema, predicts the outcome of a server-side apply; the server's
dry run has the last word where the prediction differs. OutOfSync if and only if the printed diff is
not empty: both are read off the same `ObjectDiff`.
"""
