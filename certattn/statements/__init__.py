"""Statements in words: what a reader is told of what was proved. They must be right to be read, and decide nothing."""
