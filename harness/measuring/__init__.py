"""The measuring wing: referee, checks, worker processes, telemetry."""
