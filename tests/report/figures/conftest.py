"""What the tests of single figures share."""

import pytest
from runs import run, save

from accelbench.results import find_results, tabulate_arms


@pytest.fixture
def arms_of(tmp_path):
    """Return a function that gives the arms of a run of these trials."""

    def of(*trials):
        return tabulate_arms(find_results(save(run(*trials), tmp_path / "0001_a.json")).results)

    return of
