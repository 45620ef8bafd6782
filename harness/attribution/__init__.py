"""Taking a bundle of techniques apart: factorial designs, their contrasts, and what these say. Neither wing's own."""
