"""Statements of the chapter `selection`."""
