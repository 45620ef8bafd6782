"""The file of accepted changes, as people write and review it."""

import pytest

from harness.errors import BadInput
from harness.reading.history.gate.accepted import Accepted, accept, read_accepted
from harness.reading.history.gate.series import Subject

EFFECT = Subject(kind="technique", key="t[net]|amp bf16", framework="torch", workload="net", technique="amp")
TIMES = Subject(kind="workload", key="torch net", framework="torch", workload="net")
MACHINE = Subject(kind="machine", key="example")


@pytest.mark.parametrize("subject", [EFFECT, TIMES, MACHINE])
def test_what_is_accepted_is_read_back_and_means_the_same(tmp_path, subject):
    path = tmp_path / "accepted-changes.toml"
    accept(path, subject, "example/0007_run", 0.91234, 'more "exact"\nand safe \\ \u202e')
    (entry,) = read_accepted(path)
    assert (entry.since, entry.ratio) == ("example/0007_run", pytest.approx(0.9123))
    assert entry.reason == 'more "exact"\\nand safe \\ \\u202e'
    assert [entry.names(each) for each in (EFFECT, TIMES, MACHINE)] == [
        each is subject for each in (EFFECT, TIMES, MACHINE)
    ]


def test_what_people_wrote_into_the_file_stays(tmp_path):
    path = tmp_path / "accepted-changes.toml"
    path.write_text(
        '# agreed with the model team\n[[accepted]]\ntechnique = "amp"\nsince = "a/0001_run"\n'
        'reason = "why"\nby = "somebody"\non = 2026-05-01\n'
    )
    accept(path, TIMES, "a/0002_run", None, "larger inputs")
    assert path.read_text().startswith("# agreed with the model team\n[[accepted]]\n")
    assert [entry.target for entry in read_accepted(path)] == ["amp", "net"]


def test_a_technique_without_a_workload_is_accepted_on_all_of_them():
    entry = Accepted(technique="amp", since="a/0001_run", reason="why")
    assert entry.names(EFFECT)
    assert not entry.names(TIMES)
    assert not Accepted(technique="amp", framework="tensorflow", since="a/0001_run", reason="why").names(EFFECT)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('technique = "amp"\nreason = "why"', "missing required field `since`"),
        ('technique = "amp"\nsince = "a/1"\nreason = ""', "length >= 1"),
        ('since = "a/1"\nreason = "why"', "names none of case, technique, workload, machine"),
        ('cases = "amp"\nsince = "a/1"\nreason = "why"', "unknown field `cases`"),
        ('technique = "amp"\nsince = "a/1"\nreason = "why"\nratio = -1', "`float` > 0"),
        ("technique = ", "is no TOML"),
    ],
)
def test_an_entry_that_is_none_is_one_line(tmp_path, text, words):
    path = tmp_path / "accepted-changes.toml"
    path.write_text(f"[[accepted]]\n{text}\n")
    with pytest.raises(BadInput, match=words) as raised:
        read_accepted(path)
    assert "\n" not in str(raised.value)
