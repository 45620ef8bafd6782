"""Measuring: the referee, the checks, the worker processes, interference."""
