"""The newest runs against their history: what regressed beyond chance."""
