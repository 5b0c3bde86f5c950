"""Registries: references, credentials, and the bundles that belong to a digest."""
