"""The commands, options and signatures that the pages show are those of the code."""

import ast
import inspect
import re
import shlex
from pathlib import Path

import click
import pytest

import accelbench
from accelbench.cli import main

CHECKOUT = Path(__file__).parents[2]
REFERENCE = (CHECKOUT / "docs" / "reference.md").read_text()
PAGES = sorted({*CHECKOUT.glob("*.md"), *CHECKOUT.glob("*/README.md"), *CHECKOUT.glob("docs/*.md")})
PAGES.remove(CHECKOUT / "CHANGELOG.md")  # names what is gone
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
OPTION_ROW = re.compile(r"^\| `(--accel-[\w-]+)` \|.*\| ([^|]*) \|$", re.MULTILINE)
CALL_ROW = re.compile(r"^\| `(\w+\(.*?\))`", re.MULTILINE)
COMMAND = f"accelbench ({'|'.join(main.commands)})"
COMMAND_ROW = re.compile(rf"^\| `{COMMAND}([^`]*)`", re.MULTILINE)
COMMAND_LINE = re.compile(rf"(?:^ *|\| |`|run: ){COMMAND}\b([^\n|`]*)", re.MULTILINE)


def test_every_option_of_the_plugin_is_listed_with_its_default(pytester: pytest.Pytester) -> None:
    stored = {name: value for name, value in vars(pytester.parseconfig().option).items() if name.startswith("accel_")}
    known = {f"--{name.removesuffix('_s').replace('_', '-')}": value for name, value in stored.items()}
    listed = dict(OPTION_ROW.findall(REFERENCE))
    assert listed.keys() == known.keys()
    numbers = {name: value for name, value in known.items() if type(value) in (int, float)}
    assert {name: float(listed[name]) for name in numbers} == numbers


@pytest.mark.parametrize("call", CALL_ROW.findall(REFERENCE))
def test_a_signature_names_the_parameters_of_the_function(call: str) -> None:
    shown = ast.parse(call, mode="eval").body
    assert isinstance(shown, ast.Call)
    parameters = inspect.signature(getattr(accelbench, ast.unparse(shown.func))).parameters
    positional = [ast.unparse(argument).lstrip("*") for argument in shown.args]
    assert positional == list(parameters)[: len(positional)]
    named = {*positional, *(keyword.arg or ast.unparse(keyword.value) for keyword in shown.keywords)}
    required = {name for name, each in parameters.items() if each.default is each.empty}
    assert required <= named <= parameters.keys()


def test_every_public_name_is_listed() -> None:
    assert [name for name in accelbench.__all__ if not re.search(rf"`{name}[`(]", REFERENCE)] == []


def test_every_command_is_listed_with_its_arguments_and_the_options_it_needs() -> None:
    listed = dict(COMMAND_ROW.findall(REFERENCE))
    assert listed.keys() == main.commands.keys()
    for name, shown in listed.items():
        command = main.commands[name]
        needed = [each.opts[0] for each in command.params if isinstance(each, click.Option) and each.required]
        assert re.findall(r"--[\w-]+", shown) == needed
        _, *arguments = command.collect_usage_pieces(click.Context(command))
        shown = re.sub(r" --[\w-]+ [A-Z]+|\\", "", shown)
        assert shown.split() == " ".join(arguments).split()


def test_every_option_of_advise_is_explained() -> None:
    page = (CHECKOUT / "docs" / "advice.md").read_text()
    options = {param.opts[0] for param in main.commands["advise"].params if isinstance(param, click.Option)}
    assert set(re.findall(r"^\| `(--[\w-]+)`", page, re.MULTILINE)) == options - {"--format", "--json"}


@EVERY_PAGE
def test_every_command_line_is_understood(page: Path) -> None:
    for name, rest in COMMAND_LINE.findall(COMMAND_ROW.sub("", page.read_text())):
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
