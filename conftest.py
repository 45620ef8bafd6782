"""Loads the plugin from this checkout where accelbench is not installed."""

from importlib.metadata import entry_points

_INSTALLED = any(plugin.name == "accelbench" for plugin in entry_points(group="pytest11"))
pytest_plugins = () if _INSTALLED else ("harness.plugin",)
