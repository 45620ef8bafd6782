"""Advice: the fastest configuration of a workload that a time budget finds, and how sure it is."""
