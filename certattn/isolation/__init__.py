"""A check in a process of its own, which may neither use the network nor change files nor start programs.

Confinement: it decides nothing, and a verdict does not rest on it. It imports `kernel.decide`, limits and the meter;
nothing of the kernel imports it. ``system_calls`` alone calls the system itself, by ctypes.
"""
