"""Many runs as one history: what was observed, under which environments, and what changed."""
