"""Effects over many runs on the page: one figure per technique, and a table of what changed last."""
