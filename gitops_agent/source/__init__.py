"""Git: from a URL and a revision to the bytes of one commit.

The reconciler asks `Sources` for the commit of a ref and for the files of a commit.
Nothing in here knows of Kubernetes objects except the Secret that holds the credentials.
"""
