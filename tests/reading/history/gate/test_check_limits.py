"""The limits that a project sets for its gate."""

import pytest

from harness.errors import BadInput
from harness.reading.history.gate.limits import Limits, read_limits


def test_a_project_sets_its_own_margins(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text(
        "[tool.accelbench.check]\nmargin = 0.05\ntechniques = { amp = 0.02, workers = 0.1 }\nworkloads = { net = 0.04 }"
    )
    limits = read_limits(path)
    margins = [limits.margin_of(*each) for each in (("", ""), ("amp", ""), ("amp", "net"), ("workers", "net"))]
    assert margins == [0.05, 0.02, 0.04, 0.1]


def test_a_project_that_sets_none_has_the_defaults(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    assert read_limits(tmp_path / "pyproject.toml") == read_limits(tmp_path / "none.toml") == Limits()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("margin = 3", r"`float` < 1.0"),
        ('margin = "3 %"', "Expected `float`, got `str`"),
        ("margins = 0.03", "unknown field `margins`"),
        ("techniques = 0.1", "Expected `object`"),
        ("margin = ", "is no TOML"),
    ],
)
def test_what_is_no_limit_is_one_line(tmp_path, text, words):
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[tool.accelbench.check]\n{text}\n")
    with pytest.raises(BadInput, match=words) as raised:
        read_limits(path)
    assert "\n" not in str(raised.value)
