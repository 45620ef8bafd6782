"""The pytest plugin: options, collection, the session, the ``measure`` fixture, storage and what the terminal shows."""
