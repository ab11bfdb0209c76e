"""Statements of the chapter `spectrum`."""
