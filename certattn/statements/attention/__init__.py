"""Statements of the chapter `attention`."""
