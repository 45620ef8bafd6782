"""Reasons: a code with values in the file, one wording for people."""

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accelbench
from accelbench.errors import Unavailable
from accelbench.schema.reasons import WORDINGS, Reason, describe, group, message_line, reason, reason_of


def test_a_reason_reads_as_its_wording_with_the_values_in_their_units() -> None:
    assert str(reason("host-bound", device_busy=0.31)) == "host-bound: the device was busy for 31 % of the time"


def test_work_never_waits_for_more_than_the_whole_time_whatever_a_file_holds() -> None:
    shares = [reason("waited-for-core", share=share) for share in (0.4, 1.1)]
    assert describe(shares, brief=True) == "work waited for a free core during 40–100 % of the time"


def test_the_brief_wording_leaves_the_details_out() -> None:
    assert reason("host-bound", device_busy=0.31).brief == "host-bound"


def test_a_reason_without_a_brief_wording_is_brief_already() -> None:
    assert reason("empty-output").brief == str(reason("empty-output"))


def test_several_reasons_of_one_code_give_the_range_of_each_value() -> None:
    several = [reason("host-bound", device_busy=share) for share in (0.4, 0.12, 0.31)]
    assert describe(several) == "host-bound: the device was busy for 12–40 % of the time"


def test_only_the_causes_that_were_seen_are_named() -> None:
    disturbed = reason("timing-disturbed", share=0.12, cpu_slowdown=1.34)
    assert str(disturbed) == (
        "12 % of the timing was disturbed (the processor was 1.3 times slower); a verdict had to hold without it too"
    )


def test_reasons_that_differ_in_numbers_only_stand_together() -> None:
    reasons = [
        reason("larger-than-out-of-memory", arm="batch-size 64"),
        reason("host-bound", device_busy=0.2),
        reason("host-bound", device_busy=0.3),
        reason("larger-than-out-of-memory", arm="batch-size 128"),
    ]
    assert [len(each) for each in group(reasons)] == [2, 1, 1]


def test_a_code_of_a_later_version_is_still_readable() -> None:
    assert str(Reason(code="too-cold", values={"degrees": 3})) == "too cold (degrees 3)"


@pytest.mark.parametrize(("code", "values"), [("no-such-code", {}), ("host-bound", {})])
def test_a_reason_that_cannot_be_worded_is_refused_where_it_is_made(code: str, values: dict[str, float]) -> None:
    with pytest.raises(KeyError):
        reason(code, **values)


@given(st.sampled_from(sorted(WORDINGS)), st.floats(1e-6, 1e6))
def test_every_code_has_a_wording_that_reads_with_any_value(code: str, value: float) -> None:
    wording = WORDINGS[code]
    fields = [
        (name, spec)
        for _, name, spec, _ in string.Formatter().parse(wording.template(brief=False))
        if name and name != "causes"
    ]
    values = {name: value if spec else "x" for name, spec in fields} | dict.fromkeys(wording.causes, value)
    sentence = str(Reason(code=code, values=values))
    assert sentence
    assert "{" not in sentence


def test_a_reason_that_lacks_a_value_is_still_readable() -> None:
    assert str(Reason(code="host-bound")) == "host bound"


def test_a_reason_says_in_its_wording_which_other_reason_caused_it() -> None:
    crash = reason("worker-killed", signal="SIGKILL", when="during 'build'")
    assert str(reason("no-baseline", cause=crash)) == (
        "there is no baseline to compare with: SIGKILL killed the worker during 'build'"
    )


def test_reasons_whose_brief_wordings_differ_only_in_numbers_stand_together_in_brief() -> None:
    several = [
        reason("timing-disturbed", share=0.1, cpu_slowdown=1.3),
        reason("timing-disturbed", share=0.7, memory_slowdown=2.0),
    ]
    assert len(group(several)) == 2
    (alike,) = group(several, brief=True)
    assert describe(alike, brief=True) == "10–70 % of the timing was disturbed"


def test_a_rate_reads_in_its_own_unit() -> None:
    above = reason("above-ceiling", ceiling="cpu memory", per_s=9e11, ceiling_per_s=3e11, unit="byte", times=3.0)
    assert "imply 900 GB/s, 3.00 times the 300 GB/s that is the fastest seen here (cpu memory)" in str(above)


def test_equal_reasons_are_one_in_a_set_however_their_values_are_ordered() -> None:
    assert len({reason("too-few-cores", workers=4, cores=2), reason("too-few-cores", cores=2, workers=4)}) == 1


def test_an_error_keeps_the_reason_that_it_was_raised_with() -> None:
    one_core = reason("one-core")
    assert reason_of(Unavailable(one_core)) == one_core
    assert str(Unavailable(one_core)) == str(one_core)
    assert reason_of(ValueError("no room\nfor it")) == reason("message", message="no room")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("out of memory: 3 GiB\nmore", "out of memory: 3 GiB"),
        ("", ""),
        ("\n  \nlate", "late"),
        ("Graph execution error:", "Graph execution error:"),
        (
            "Graph execution error:\n\nDetected at node loss:\n<stack>\nReceived a label value of 9\n\t [[loss]]",
            "Graph execution error: Received a label value of 9",
        ),
        (
            'in user code:\n\n    File "train.py", line 31, in f  *\n        return x @ y\n\n    ValueError: 3 and 2\n',
            "in user code: ValueError: 3 and 2",
        ),
        (
            "Exception encountered when calling Block.call().\n\n\x1b[1mUnknown. Error:\n\nNot equal\x1b[0m\n",
            "Exception encountered when calling Block.call(). Not equal",
        ),
        ('Error(s) in loading:\n\tMissing key(s): "weight".', 'Error(s) in loading: Missing key(s): "weight".'),
    ],
)
def test_an_error_whose_first_line_is_a_heading_says_what_is_wrong(message: str, line: str) -> None:
    assert message_line(ValueError(message)) == line


def test_every_reason_that_is_made_has_a_wording_and_every_wording_is_used() -> None:
    assert {code for code in codes_made() if code is not None} == WORDINGS.keys()
    assert None not in codes_made(), "the code of a reason is written where the reason is made"


def codes_made() -> Iterator[str | None]:
    """Yield the code of every call of ``reason`` in the package, None where the code is not a literal."""
    for path in Path(accelbench.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reason":
                code = node.args[0]
                yield code.value if isinstance(code, ast.Constant) else None


def test_several_reasons_give_the_sum_of_what_is_counted_over_them_and_name_their_cause_in_brief() -> None:
    causes = [reason("many-page-faults", arm=arm, faults=2e4, usual=50.0) for arm in ("amp off", "amp on")]
    several = [
        reason("odd-visits", odd=odd, visits=visits, cause=causes[odd % 2]) for odd, visits in ((1, 4), (2, 5), (4, 4))
    ]
    (alike,) = group(several)
    assert str(several[2]).startswith("the machine was in an unusual state in 4 of 4 visits: ")
    lone = reason("odd-visits", odd=1, visits=1, cause=causes[0])
    assert str(lone) == "the machine was in an unusual state in 1 of 1 visit: there were many page faults"
    assert describe(alike) == "the machine was in an unusual state in 7 of 13 visits: there were many page faults"
