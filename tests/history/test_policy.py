"""What a project says about changes: the limits of its pyproject.toml, and the file of accepted changes."""

import pytest

from accelbench.errors import BadInput
from accelbench.history.policy import Subject, Thresholds, Waiver, read_thresholds, read_waivers, write_waiver


def test_a_project_sets_its_own_margins(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text(
        "[tool.accelbench.check]\nmargin = 0.05\ntechniques = { amp = 0.02, workers = 0.1 }\nworkloads = { net = 0.04 }"
    )
    thresholds = read_thresholds(path)
    margins = [thresholds.margin_of(*each) for each in (("", ""), ("amp", ""), ("amp", "net"), ("workers", "net"))]
    assert margins == [0.05, 0.02, 0.04, 0.1]


def test_a_project_that_sets_none_has_the_defaults(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    assert read_thresholds(tmp_path / "pyproject.toml") == read_thresholds(tmp_path / "none.toml") == Thresholds()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("margin = 3", r"`float` < 1.0"),
        ('margin = "3 %"', "Expected `float`, got `str`"),
        ("margins = 0.03", "unknown field `margins`"),
        ("techniques = 0.1", "Expected `object`"),
        ("margin = ", "is not TOML"),
    ],
)
def test_what_is_no_limit_is_one_line(tmp_path, text, words):
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[tool.accelbench.check]\n{text}\n")
    with pytest.raises(BadInput, match=words) as raised:
        read_thresholds(path)
    assert "\n" not in str(raised.value)


EFFECT = Subject(kind="technique", key="t[net]|amp bf16", framework="torch", workload="net", technique="amp")
TIMES = Subject(kind="workload", key="torch net", framework="torch", workload="net")
MACHINE = Subject(kind="machine", key="example")


@pytest.mark.parametrize("subject", [EFFECT, TIMES, MACHINE])
def test_what_is_accepted_is_read_back_and_means_the_same(tmp_path, subject):
    path = tmp_path / "accepted-changes.toml"
    write_waiver(path, subject, "example/0007_run", 0.91234, 'more "exact"\nand safe \\ \u202e')
    (entry,) = read_waivers(path)
    assert (entry.since, entry.ratio) == ("example/0007_run", pytest.approx(0.9123))
    assert entry.reason == 'more "exact"\\nand safe \\ \\u202e'
    assert [entry.covers(each) for each in (EFFECT, TIMES, MACHINE)] == [
        each is subject for each in (EFFECT, TIMES, MACHINE)
    ]


def test_what_people_wrote_into_the_file_stays(tmp_path):
    path = tmp_path / "accepted-changes.toml"
    path.write_text(
        '# agreed with the model team\n[[accepted]]\ntechnique = "amp"\nsince = "a/0001_run"\n'
        'reason = "why"\nby = "somebody"\non = 2026-05-01\n'
    )
    write_waiver(path, TIMES, "a/0002_run", None, "larger inputs")
    assert path.read_text().startswith("# agreed with the model team\n[[accepted]]\n")
    assert [entry.target for entry in read_waivers(path)] == ["amp", "net"]


def test_a_technique_without_a_workload_is_accepted_on_all_of_them():
    entry = Waiver(technique="amp", since="a/0001_run", reason="why")
    assert entry.covers(EFFECT)
    assert not entry.covers(TIMES)
    assert not Waiver(technique="amp", framework="tensorflow", since="a/0001_run", reason="why").covers(EFFECT)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('technique = "amp"\nreason = "why"', "missing required field `since`"),
        ('technique = "amp"\nsince = "a/1"\nreason = ""', "length >= 1"),
        ('since = "a/1"\nreason = "why"', "names none of case, technique, workload, machine"),
        ('cases = "amp"\nsince = "a/1"\nreason = "why"', "unknown field `cases`"),
        ('technique = "amp"\nsince = "a/1"\nreason = "why"\nratio = -1', "`float` > 0"),
        ("technique = ", "is not TOML"),
    ],
)
def test_an_entry_that_is_none_is_one_line(tmp_path, text, words):
    path = tmp_path / "accepted-changes.toml"
    path.write_text(f"[[accepted]]\n{text}\n")
    with pytest.raises(BadInput, match=words) as raised:
        read_waivers(path)
    assert "\n" not in str(raised.value)
