"""Checks that an arm must pass to have a speed."""
