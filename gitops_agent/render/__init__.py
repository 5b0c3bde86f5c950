"""From the files of a commit to the objects that it declares.

`render` reads a directory of manifests or runs kustomize on it; both end in the strict YAML reader.
The same commit and parameters give the same objects on every machine, or an error; never part of them.
"""
