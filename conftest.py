"""Loads the plugin from this checkout where accelbench is not installed."""

import sys
from importlib.metadata import entry_points
from pathlib import Path

_INSTALLED = any(plugin.name == "accelbench" for plugin in entry_points(group="pytest11"))
if not _INSTALLED:
    sys.path.insert(0, str(Path(__file__).parent / "harness"))
pytest_plugins = () if _INSTALLED else ("accelbench.pytest_plugin.plugin",)
