"""Statements of the chapter `training`."""
