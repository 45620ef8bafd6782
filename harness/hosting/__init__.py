"""What accelbench does inside pytest: options, collecting, replaying, progress, the summary and saving."""
