"""The schema of explanations: written ones can always be read, and nothing else can."""

import json
import math

import pytest
from explanations import AMP, STORED, WORKERS, explained_run, explanation, predicted

from accelbench.errors import UnreadableResult
from accelbench.schema.run_explanation import from_bytes, list_predictions, list_reasons, to_bytes


def test_what_is_written_is_read_back():
    assert from_bytes(to_bytes(explanation()), source="0001_a.explained") == explanation()


def test_a_stored_explanation_of_version_1_is_read():
    stored = from_bytes(STORED.read_bytes(), source=STORED.name)
    assert stored.schema_version == 1
    assert {each.asked for each in stored.reasons} == {"slower"}
    assert stored.predictions != []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema_version": 99}, "schema version 99, this accelbench reads up to 1; upgrade"),
        ({"schema_version": None}, "not the explanation of a run; make one with accelbench explain RESULT"),
        ({"predictions": "many"}, "does not follow schema version 1"),
        ({"left_out": -1}, "does not follow schema version 1"),
    ],
)
def test_a_file_that_is_no_explanation_is_one_line(change, words):
    document = json.loads(to_bytes(explanation())) | change
    with pytest.raises(UnreadableResult) as caught:
        from_bytes(json.dumps(document).encode(), source="0001_a.explained")
    assert str(caught.value).startswith("0001_a.explained: ")
    assert words in str(caught.value)


def test_a_truncated_file_is_one_line():
    with pytest.raises(UnreadableResult, match=r"0001_a\.explained: not complete JSON"):
        from_bytes(to_bytes(explanation())[:-20], source="0001_a.explained")


def test_a_share_bounds_the_speedup_by_amdahls_law():
    bounds = {each.trial: each.at_most for each in explanation().predictions}
    assert bounds[AMP] == pytest.approx(1 / 0.48)
    assert bounds[WORKERS] == math.inf


def test_predictions_find_their_effects_and_the_largest_share_comes_first():
    found = list_predictions(explanation(), explained_run())
    assert found[0][1].arm.levels == {"workers": "1"}
    assert [effect.effect.speedup for _, effect in found] == [0.668, 1.12, 0.107, 4.0]


def test_what_the_run_does_not_have_is_left_out():
    stranger = predicted("another", {"amp": "bf16"}, "products", 0.5)
    assert list_predictions(explanation(predictions=[stranger]), explained_run()) == []
    assert list_reasons(explanation(reasons=[]), explained_run()) == []
