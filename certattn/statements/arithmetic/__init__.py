"""Statements of the chapter `arithmetic`."""
