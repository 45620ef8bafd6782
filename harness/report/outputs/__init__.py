"""The effects for other programs: CSV, Parquet, LaTeX, and Markdown for a pull request."""
