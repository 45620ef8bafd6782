"""Labels, lists and tables as text: names, levels, cases, and "a, b and 3 more". Nothing else words them."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from html import escape
from typing import Any

from accelbench.schema.result import AS_IS, TrialRecord
from accelbench.schema.safe_json import printable
from accelbench.units import count

FRAMEWORK_NAMES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "numpy": "NumPy", "cupy": "CuPy"}

Options = Mapping[str, Any] | str  # levels or options, or the text that they already are


def hyphenate(name: str) -> str:
    """Return a name as people read it: ``memory_format`` becomes ``memory-format``."""
    return name.replace("_", "-")


def with_article(noun: str) -> str:
    """Return a noun with its article, such as ``an int``."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def name_type(value: object) -> str:
    """Return the type of a value with its article, such as ``a dict``; None is ``None``."""
    return "None" if value is None else with_article(type(value).__name__)


def name_signal(number: int) -> str:
    """Return the name of a signal, such as ``SIGKILL``; a real-time signal has a number only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def cross(names: Iterable[str]) -> str:
    """Return techniques that are switched together, such as ``amp × memory-format``."""
    return " × ".join(map(hyphenate, names))


def format_levels(levels: Mapping[str, Any], number: Callable[[float], str] = count) -> str:
    """Return levels or options such as ``pin-memory on, elements 1,000``.

    Args:
        levels: values by name. Only numbers are formatted; a numeric level that is text stays as it is.
        number: formats a number.
    """
    return ", ".join(f"{hyphenate(name)} {_value(value, number)}" for name, value in levels.items())


def format_baseline(levels: Mapping[str, Any], *, named: bool = True) -> str:
    """Return the levels over which others are compared: as ``format_levels`` does, or the levels without names.

    A user's program as it stands is ``your program``.
    """
    if levels and set(levels.values()) == {AS_IS}:
        return "your program"
    return format_levels(levels) if named else ", ".join(levels.values())


def format_case(
    *parts: str,
    workload: str = "",
    problem: Options = "",
    fixed: Options = "",
    framework: str = "",
    test: str = "",
) -> str:
    """Return the label of a case: workload, problem options, fixed levels, framework and test, without empty parts.

    Args:
        parts: what the label begins with, such as a technique's level.
        workload: name of the workload.
        problem: options of the workload.
        fixed: levels that all arms of the trial have.
        framework: name of the framework.
        test: name of the test, where another one measures the same case: see `tell_apart`.
    """
    options = (each if isinstance(each, str) else format_levels(each) for each in (problem, fixed))
    return ", ".join(filter(None, (*parts, workload, *options, framework, test)))


def tell_apart(cases: Mapping[str, Hashable]) -> dict[str, str]:
    """Return a name by the id of each trial whose case another trial has, too; trials map to their cases.

    Ids are those of pytest's tests, such as ``test_rows.py::TestFast::test_rows[half]``. The name is as short as tells
    the trials of a case apart: without file and parameters, without the file, or the whole id.
    """
    alike: dict[Hashable, list[str]] = {}
    for trial, case in cases.items():
        alike.setdefault(case, []).append(trial)
    named: dict[str, str] = {}
    for trials in alike.values():
        inside = [trial.partition("::")[2] or trial for trial in trials]
        ways = [each.partition("[")[0] for each in inside], inside, trials
        names = next(way for way in ways if len(set(way)) == len(trials))
        named |= dict(zip(trials, names, strict=True)) if len(trials) > 1 else {}
    return named


def name_tests(trials: Iterable[TrialRecord]) -> dict[str, str]:
    """Return a name by the id of each trial of a run that measures the same as another one: see `tell_apart`."""
    return tell_apart(
        {
            trial.id: (
                trial.framework,
                trial.workload,
                frozenset(trial.problem.items()),
                frozenset(trial.fixed.items()),
                frozenset(trial.techniques),
            )
            for trial in trials
        }
    )


def format_test_id(levels: Mapping[str, str]) -> str:
    """Return the part of a test's id that names its levels, such as ``amp-bf16`` or ``device-cuda0``."""
    return "-".join(
        re.sub(r"[^A-Za-z0-9.+]+", "-", f"{name}-{level.replace(':', '')}") for name, level in levels.items()
    )


def format_place(workload: str, *details: str) -> str:
    """Return where something was measured, such as ``matmul (torch, elements 10,000)``, without empty details."""
    known = ", ".join(filter(None, details))
    return f"{workload} ({known})" if known else workload


def join_names(names: Sequence[str]) -> str:
    """Return names as a sentence lists them: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def join_sentences(sentences: Iterable[str]) -> str:
    """Return a paragraph of sentences that begin in lower case and have no full stop."""
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def list_some(items: Iterable[str], most: int, *, separator: str = ", ") -> str:
    """Return at most ``most`` items and how many more there are, such as ``a, b and 3 more``.

    Args:
        items: any number of texts.
        most: how many of them to write out.
        separator: the text between two items, such as ``"; "`` for items that contain commas.
    """
    listed = list(items)
    shown = separator.join(listed[:most])
    more = len(listed) - most
    last = " and " if separator == ", " else f"{separator}and "
    return f"{shown}{last}{count(more)} more" if more > 0 else shown


def did_you_mean(name: str, meanings: Mapping[str, str]) -> str:
    """Return what a misspelt name may mean, of names by their spellings, as the end of a message; "" for nothing."""
    near = get_close_matches(name, meanings, n=1)
    return f"; did you mean {meanings[near[0]]}?" if near else ""


def name_some(names: Sequence[str], most: int) -> str:
    """Return names as a sentence lists them: all of them, or ``most`` and how many more there are."""
    return list_some(names, most) if len(names) > most else join_names(names)


def format_table(rows: Iterable[Sequence[str]], headers: Sequence[str]) -> str:
    """Return a table for a terminal: left-aligned columns, two spaces apart, with a rule below the headers.

    Every row is one line: a line break in a cell is escaped.
    """
    cells = [[printable(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [cells[0], ["-" * width for width in widths], *cells[1:]]
    padded = ("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)


def format_table_html(rows: Iterable[Sequence[str]], headers: Sequence[str] = ()) -> str:
    """Return an HTML table, as notebooks show it."""
    head = f"<thead>{_html_row('th', headers)}</thead>" if headers else ""
    return f"<table>{head}<tbody>{''.join(_html_row('td', row) for row in rows)}</tbody></table>"


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _value(value: Any, number: Callable[[float], str]) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
