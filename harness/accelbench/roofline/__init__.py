"""What this machine can do at most, and arms that claim to be faster than that."""
