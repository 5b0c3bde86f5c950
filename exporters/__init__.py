"""Metrics: the catalogue, instruments for every process, the /metrics server, the state exporter.

Every part imports `exporters.instrument` and `exporters.server`; `python -m exporters` is the
process that serves the state of our custom resources.
"""
