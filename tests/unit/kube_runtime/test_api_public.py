"""What kube_runtime offers to the parts."""

import importlib

import kube_runtime


def test_every_public_module_is_there() -> None:
    for name in kube_runtime.__all__:
        assert importlib.import_module(f"kube_runtime.{name}").__doc__
