"""When this program began to read certattn: sources that are younger may not be what it runs."""

import time

IMPORTED_NS = time.time_ns()
