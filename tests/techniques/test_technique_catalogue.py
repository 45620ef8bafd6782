"""The list of techniques in the documentation."""

from pathlib import Path

from harness.techniques.catalogue import catalogue


def test_the_documentation_lists_what_is_declared() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "techniques.md").read_text()
    assert documented == catalogue(), "declarations changed: python -m harness.techniques > docs/techniques.md"
