"""What workloads are fed: images, tables, digits, and inputs that vary. It knows no framework."""
