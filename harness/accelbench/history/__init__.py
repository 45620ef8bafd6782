"""The history of many runs: what changed, whether the newest run regressed, and how two sets of runs compare."""
