"""Steps and drifts over a whole history, each dated to a run, and what changed in the environment there."""
