"""Filling a database: patterns that the product itself makes, moulds of their rows, and casts of these by COPY."""
