"""Measure effects of the suite again, by a loop that shares nothing with the way in which the suite measures."""
