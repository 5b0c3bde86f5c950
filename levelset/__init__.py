"""The command line that ties the parts together: `levelset …` and `kubectl levelset …`."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("levelset")
