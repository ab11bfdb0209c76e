"""The second checker: `python tools/recheck --help` says how it is used.

Read, in this order: `outcomes`, `scalars`, `documents`, `fields` and `arrays` (what a file says); `intervals`,
`functions` and `decisions` (how a number is proved to lie where it does); `vectors`, `matrices` and `algebra`;
`softmax` and `laws`; then a chapter: `attention`, `prompts`, `selection`, `training`, `spectrum`, `arithmetic`.
`program` runs them.
"""

import sys

from program import main

if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    raise SystemExit(main(sys.argv[1:]))
