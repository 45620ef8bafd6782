"""Worker processes, in which trials are measured."""
