"""A check in a process of its own, which may not do much. Confinement: nothing here decides."""
