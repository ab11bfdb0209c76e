"""Why there is no cache, or why an entry is not believed. Neither is ever a reason for another verdict."""

from __future__ import annotations


class UnusableError(Exception):
    """The cache cannot be used: the message says what was found, and what to do."""


class UnbelievedError(Exception):
    """An entry is not one that this user's program has written; the message says why."""
