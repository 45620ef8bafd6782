"""Ask an installed tool where series change: run by the Python of that tool's own environment.

`python ask_peer.py TOOL` reads a JSON list of series (natural logarithms of seconds) and writes, for each,
a JSON list of changes: the first run after the change, and whether it became slower.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from itertools import pairwise

Changes = list[tuple[int, bool]]


def asv(logs: list[float]) -> Changes:
    """Regressions by asv: a piecewise constant fit with a threshold of 5 %, which reports only lasting losses."""
    from asv.step_detect import detect_regressions, detect_steps

    seconds = [math.exp(value) for value in logs]
    _, _, found = detect_regressions(detect_steps(seconds, [1.0] * len(seconds)), threshold=0.05)
    return [(after, True) for _, after, *_ in found or ()]


def asv_steps(logs: list[float]) -> Changes:
    """All steps of asv's fit, as its graphs show them."""
    from asv.step_detect import detect_steps

    steps = detect_steps([math.exp(value) for value in logs], [1.0] * len(logs))
    return [(new[0], new[2] > old[2]) for old, new in pairwise(steps)]


def otava(logs: list[float]) -> Changes:
    """Apache Otava (Hunter): E-divisive in windows of 50 runs, t-test at 0.001."""
    from otava.analysis import compute_change_points

    points, _ = compute_change_points([math.exp(value) for value in logs])
    return [(int(point.index), bool(point.stats.mean_2 > point.stats.mean_1)) for point in points]


def ruptures(logs: list[float]) -> Changes:
    """PELT of ruptures with the rbf cost and a penalty of 3 ln n."""
    import numpy as np
    from ruptures import Pelt

    ends = Pelt(model="rbf", min_size=2, jump=1).fit(np.array(logs)).predict(pen=3 * math.log(len(logs)))
    edges = [0, *ends]
    middles = [statistics.median(logs[begin:end]) for begin, end in pairwise(edges)]
    return [(at, new > old) for at, (old, new) in zip(edges[1:], pairwise(middles), strict=False)]


if __name__ == "__main__":
    answer = {"asv": asv, "asv-steps": asv_steps, "otava": otava, "ruptures": ruptures}[sys.argv[1]]
    json.dump([answer(logs) for logs in json.load(sys.stdin)], sys.stdout)
