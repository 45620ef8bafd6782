"""What an arm costs besides time."""
