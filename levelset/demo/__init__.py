"""The demo: one push to Git becomes running, verified, measured pods, and every claim is checked on the way.

`play.py` is the story in order; each other module is one step or one instrument of it. A step that does not hold
raises DemoFailedError, and the demo exits with 1.
"""
