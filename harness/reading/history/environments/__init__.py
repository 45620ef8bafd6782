"""Under what runs were made: differences in words, eras and sub-eras, and the bridges between them."""
