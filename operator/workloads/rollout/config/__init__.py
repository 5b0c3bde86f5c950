"""ConfigMaps and Secrets as a part of each revision of a Rollout.

docs/design/007-config-revisions.md tells why it is done this way. `keeper` is the way in.
"""
