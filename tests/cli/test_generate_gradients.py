"""`certattn generate gradient-mean-square` and `gradient-tail`: from a law to a certificate that verifies."""

from __future__ import annotations

from generating import refuses, states

LAW = "law: {kind: rademacher, sizes: [1, 1/2]}\nquery: [1, 1/2]\nlength: 400\n"
OPEN = LAW.replace("length: 400\n", "")
BROKEN = LAW.replace("1/2]}", "-1]}")
SQUARE, TAIL = "gradient-mean-square", "gradient-tail"

test_mean_squares = states(
    SQUARE,
    [
        ([LAW, "--gradient", "V"], "operator norm"),
        ([LAW, "--method", "general", "--digits", "3", "--note", "signs"], "Hilbert-Schmidt norm"),
        ([OPEN, "--length", "400"], "400 independent tokens"),
        ([OPEN, "--length", "400", "--lengths", "one"], "400 independent tokens"),
    ],
)
test_tails = states(
    TAIL,
    [
        ([LAW, "--probability", "0.01"], "smallest threshold found: 0."),
        ([LAW, "--exceeds", "0.4", "--gradient", "V"], "smallest probability found: "),
    ],
)
test_errors_of_mean_squares_name_the_laws_file = refuses(
    SQUARE,
    [
        ([BROKEN], "sizes >= 0"),
        ([OPEN], "no length; expected `length` in the file, or --length"),
        ([LAW, "--length", "400"], "the length is given twice"),
        ([OPEN, "--length", "0"], "--length 0\n  found:    '0'\n  expected: an integer >= 1"),
        ([OPEN, "--length", "9", "--lengths", "onwards"], "a length with at_least is not for this law"),
    ],
    status=2,
)
test_errors_of_tails_name_the_laws_file = refuses(
    TAIL,
    [([BROKEN, "--probability", "0.01"], "task.yaml"), ([BROKEN, "--probability", "0.01"], "sizes >= 0")],
    status=2,
)
