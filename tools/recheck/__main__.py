"""The second checker: `python tools/recheck --help` says how it is used.

What to read: `documents` and `arrays` (what a file says), `intervals` and `decisions` (how a number is proved to lie
where it does), `algebra`, then one chapter: `attention`, `prompts`, `selection`, `training`, `spectrum`, `arithmetic`.
Of the others it needs nothing but `softmax` and `laws`. `program` runs them.
"""

import sys

from program import main

if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    raise SystemExit(main(sys.argv[1:]))
