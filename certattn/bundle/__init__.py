"""Certificates on their way to others: the lock of what is promised, and archives that carry everything to a reader."""
