"""The commands, options and signatures that the pages show are those of the code."""

import re
import shlex
from pathlib import Path

import click
import pytest

import accelbench
from accelbench.cli import main

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"
PAGES = sorted({*CHECKOUT.glob("*.md"), *CHECKOUT.glob("*/README.md"), *DOCS.rglob("*.md")})
PAGES.remove(CHECKOUT / "CHANGELOG.md")  # names what is gone
PAGES.remove(DOCS / "reference" / "commands.md")  # is what the commands print
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
COMMAND_LINE = re.compile(rf"(?:^ *|\| |`|run: )accelbench ({'|'.join(main.commands)})\b([^\n|`]*)", re.MULTILINE)


def test_the_reference_has_every_public_name_and_no_other() -> None:
    listed = re.findall(r"^::: accelbench\.(\w+)$", (DOCS / "reference" / "api.md").read_text(), re.MULTILINE)
    reading = {"find_results", "tabulate_arms", "effects"}  # need the extra `report`
    assert sorted(listed) == sorted({*accelbench.__all__, *reading})


@pytest.mark.parametrize(("name", "file"), [("advise", "advice.md"), ("explain", "explain.md")])
def test_every_option_is_explained(name: str, file: str) -> None:
    page = (DOCS / "how-to" / file).read_text()
    options = {param.opts[0] for param in main.commands[name].params if isinstance(param, click.Option)}
    assert set(re.findall(r"^\| `(--[\w-]+)`", page, re.MULTILINE)) == options - {"--format", "--json"}


@EVERY_PAGE
def test_every_command_line_is_understood(page: Path) -> None:
    for name, rest in COMMAND_LINE.findall(page.read_text()):
        words = shlex.split(re.sub(r"\s[#>].*", "", rest))
        if not words:  # a sentence about the command
            continue
        command = main.commands[name]
        context = click.Context(command, info_name=name, **command.context_settings)
        given, _, _ = command.make_parser(context).parse_args(words)
        for each in command.params:
            value = given.get(each.name)
            assert value or not each.required, f"accelbench {name}{rest}: no {each.human_readable_name}"
            if value and isinstance(each.type, click.Choice):
                assert value in each.type.choices, f"accelbench {name}{rest}"


@EVERY_PAGE
def test_every_option_of_pytest_and_every_environment_of_tox_exists(page: Path, pytester: pytest.Pytester) -> None:
    text = page.read_text()
    known = re.findall(r"--[\w-]+", pytester.runpytest_inprocess("--help").stdout.str())
    assert set(re.findall(r"--(?:accel|benchmark)-[\w-]+", text)) - {*known} == set()
    described = re.findall(r"\[testenv:(\w+)\]", (CHECKOUT / "tox.ini").read_text())
    assert set(re.findall(r"tox -e (\w+)", text)) - {*described} == set()
