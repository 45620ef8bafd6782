"""Tables of the reference in docs/ that the code declares: techniques, options, commands, and the JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import msgspec

from accelbench.cli import main as accelbench_command
from accelbench.core import declared_for, load_builtins
from accelbench.pytest_plugin.options import add_options
from accelbench.schema.result import KEY, Run
from accelbench.text import FRAMEWORK_NAMES

CHECKOUT = Path(__file__).parent.parent


def techniques() -> Iterator[str]:
    """Yield every technique with its levels, from the declarations."""
    load_builtins()
    yield from "\n\n".join(map(_table_of, FRAMEWORK_NAMES)).splitlines()


def _table_of(framework: str) -> str:
    rows = [f"## {FRAMEWORK_NAMES[framework]}", "", "| technique | levels | what it is |", "|---|---|---|"]
    for technique in declared_for(framework):
        levels = technique.levels
        shown = "by machine" if callable(levels) else ", ".join(f"`{level}`" for level in levels)
        rows.append(f"| `{technique.name}` | {shown} | {technique.summary} |")
    return "\n".join(rows)


def options() -> Iterator[str]:
    """Yield the plugin's options with their meaning and default, from their declarations."""
    declared: dict[str, dict[str, Any]] = {}
    group = SimpleNamespace(addoption=lambda name, **attributes: declared.update({name: attributes}))
    add_options(SimpleNamespace(getgroup=lambda *_: group, addini=lambda *_, **__: None))
    yield "| option | meaning | default |"
    yield "|---|---|---|"
    for name, attributes in declared.items():
        meaning, _, default = attributes["help"].partition(" Default: ")
        values = attributes.get("metavar") or "|".join(attributes.get("choices", ()))
        option = f"`{' '.join((name, values)).strip()}`".replace("|", "\\|")
        yield f"| {option} | {meaning.rstrip('.')} | {default or 'off'} |"


def commands() -> Iterator[str]:
    """Yield what every command of `accelbench` prints as its help."""
    parent = click.Context(accelbench_command, info_name="accelbench", **accelbench_command.context_settings)
    for name, command in sorted(accelbench_command.commands.items()):
        context = click.Context(command, parent, name, max_content_width=100, terminal_width=100)
        help_text = command.get_help(context)
        yield from (f"## accelbench {name}", "", "```text", *help_text.splitlines(), "```", "")


def schema() -> str:
    """Return the JSON Schema of result files, whose fields are described as in results/README.md."""
    generated = msgspec.json.schema(Run)
    documented = (CHECKOUT / "results" / "README.md").read_text()
    for name, definition in generated["$defs"].items():
        definition.pop("description", None)  # docstrings are written for readers of the code
        title = {"TrialRecord": "Trial", "ArmRecord": "Arm"}.get(name, name)
        section = re.search(rf"^### {title}\n(.*?)(?=^#|\Z)", documented, re.MULTILINE | re.DOTALL)
        rows = re.findall(r"^\| (`[^|]+`) \|[^|]*\| (.*) \|$", section[1] if section else "", re.MULTILINE)
        meanings = {field: meaning for fields, meaning in rows for field in re.findall(r"`(\w+)`", fields)}
        for field, declared in definition.get("properties", {}).items():
            if field in meanings:
                declared["description"] = meanings[field]
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A result file of accelbench",
        "description": "pytest-benchmark's JSON with one key of accelbench's own",
        "type": "object",
        "required": [KEY],
        "properties": {KEY: {"$ref": generated["$ref"]}},
        "$defs": generated["$defs"],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
