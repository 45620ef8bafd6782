"""What a command writes into the pages is what the code declares, and the JSON Schema fits the result files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

CHECKOUT = Path(__file__).parents[2]
SCHEMA = json.loads((CHECKOUT / "docs" / "reference" / "result.schema.json").read_text())
PRINT = """
import json, reference_tables
tables = {name: "\\n".join(getattr(reference_tables, name)()) for name in ("techniques", "options", "commands")}
print(json.dumps({**tables, "schema": reference_tables.schema()}))
"""


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    # In a process of its own, since other tests declare techniques.
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "docs")}
    done = subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("techniques", "techniques.md"),
        ("options", "pytest.md"),
        ("commands", "commands.md"),
        ("schema", "result.schema.json"),
    ],
)
def test_the_page_shows_what_is_declared(generated: dict[str, str], name: str, page: str) -> None:
    shown = (CHECKOUT / "docs" / "reference" / page).read_text()
    assert generated[name] in shown, "declarations changed: python docs/make_tables.py"


@pytest.mark.parametrize("name", ["run_v1.json", "run_every_field.json"])
def test_a_result_file_follows_the_schema(name: str) -> None:
    jsonschema.validate(json.loads((CHECKOUT / "tests" / "data" / name).read_text()), SCHEMA)


def test_a_damaged_result_file_does_not() -> None:
    damaged = json.loads((CHECKOUT / "tests" / "data" / "run_v1.json").read_text())
    damaged["accelbench"]["trials"][0]["arms"][0]["outcome"] = "splendid"
    with pytest.raises(jsonschema.ValidationError, match="splendid"):
        jsonschema.validate(damaged, SCHEMA)


def test_the_schema_says_what_every_field_means() -> None:
    silent = {
        f"{kind}.{field}"
        for kind, declared in SCHEMA["$defs"].items()
        for field, each in declared.get("properties", {}).items()
        if "description" not in each
    }
    assert silent == set()
