"""Accept and reject cases of `binary64-exponential` with the table of the kernel, in a file and written out.

The bounds of six digits are the proved ones rounded up, and the error at the score rounded down: one
unit less, or more, is not proved, or false.
"""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Family, array

from certattn.fast.exponential import TABLE

NAME = "binary64-exponential"
OWN = array("table.npy", "float64", "[2048]")
family = partial(Family, NAME)


def table(name: str, shape: str = "[2048]", dtype: str = "float64") -> str:
    return array(f"{name}.npy", dtype, shape)


CONSTANTS = """\
  constants:
    L1: 0xb17217fp-39
    L2: 0x1f473de6af278fp-93
    inverse: 0xb8aa3b295c17fp-40
    C2: 0x400000021f6e3p-51
    C3: 0x2aaaaaab8409fp-52
"""
WRITTEN_OUT = ", ".join(entry.hex() for entry in TABLE.tolist())

KERNEL = family(
    "the kernel's own exponential",
    f"""
given:
{CONSTANTS}  table: {OWN}
  scores_up_to: 11000
asserts:
  relative_error:
    at_most: 2.26356e-16
    at: {{score: 0xa267e096ac44fp-58, at_least: 2.24681e-16}}
  used_by: kernel
""",
    {
        "nothing about one score": ("    at: {score: 0xa267e096ac44fp-58, at_least: 2.24681e-16}\n", ""),
        "only one score": ("    at_most: 2.26356e-16\n", ""),
        "nothing about the kernel": ("  used_by: kernel\n", ""),
        "a looser bound": ("2.26356e-16", "1/1000000"),
        "a bound of more digits": ("2.26356e-16", "2.2635587605e-16"),
        "the bound as a fraction": ("2.26356e-16", "226356/1000000000000000000000"),
        "a constant as a fraction": ("0xb17217fp-39", "186065279/549755813888"),
        "a constant in longer form": ("0x400000021f6e3p-51", "0x1.000000087db8cp-1"),
        "all rows of the table": ("shape: [2048]}", 'shape: [2048], rows: "0:2048"}'),
        "the table written out": (OWN, f"[{WRITTEN_OUT}]"),
        "more scores": ("scores_up_to: 11000", "scores_up_to: 11100"),
        "a lower bound of zero": ("at_least: 2.24681e-16", "at_least: 0"),
        "the score 0": ("{score: 0xa267e096ac44fp-58, at_least: 2.24681e-16}", "{score: 0, at_least: 0}"),
        "a subnormal score": ("{score: 0xa267e096ac44fp-58, at_least: 2.24681e-16}", "{score: 0x1p-1074, at_least: 0}"),
        "the largest score": (
            "{score: 0xa267e096ac44fp-58, at_least: 2.24681e-16}", "{score: 11000, at_least: 3.8e-17}"),
        "a negative score": ("{score: 0xa267e096ac44fp-58, at_least: 2.24681e-16}", "{score: -700, at_least: 1e-30}"),
        "an empty witness": ("asserts:\n", "witness: {}\nasserts:\n"),
    },
    {
        "at_most one unit lower": ("2.26356e-16", "2.26355e-16", REJECTED, "the proved bound"),
        "at_most half of it": ("2.26356e-16", "1.13178e-16", REFUTED, "that were tried"),
        "at_most below the error at the score": ("2.26356e-16", "2.2468e-16", REFUTED, "0xa267e096ac44fp-58"),
        "at_most of zero": ("2.26356e-16", "0", REFUTED, "that were tried"),
        "at_least one unit higher": ("2.24681e-16", "2.24682e-16", REFUTED, "the relative error at s"),
        "at_least above the bound": ("2.24681e-16", "1", REFUTED, "the relative error at s"),
        "another score": ("0xa267e096ac44fp-58", "1/2", REFUTED, "at s = 0x1p-1"),
        "the next score": ("0xa267e096ac44fp-58", "0xa267e096ac450p-58", REFUTED, "the relative error at s"),
        "the score negated": ("0xa267e096ac44fp-58", "-0xa267e096ac44fp-58", REFUTED, "the relative error at s"),
        "fewer scores than the kernel's": ("scores_up_to: 11000", "scores_up_to: 10999", REFUTED, "largest score"),
        "too many scores": ("scores_up_to: 11000", "scores_up_to: 22000", REJECTED, "k L1 is exact"),
        "a table of one entry less": (OWN, table("table-short", "[2047]"), MALFORMED, "2048 numbers, one for each j"),
        "a table of one entry more": (OWN, table("table-long", "[2049]"), MALFORMED, "2048 numbers"),
        "fewer rows": ("shape: [2048]}", 'shape: [2048], rows: "0:2047"}', MALFORMED, "2047 numbers"),
        "a table of two dimensions": (OWN, table("table-square", "[1, 2048]"), MALFORMED, "one extent"),
        "the wrong hash": (OWN, OWN.replace("sha256: ", "sha256: 0")[: len(OWN) + 1], MALFORMED, "sha256"),
        "an infinite entry": (OWN, table("table-infinite"), MALFORMED, "an infinity at entry 7"),
        "an entry that is no number": (OWN, table("table-nan"), MALFORMED, "a NaN at entry 2047"),
        "entries that are no doubles": (OWN, table("table-integers", dtype="int64"), MALFORMED, "as entry 0"),
        "a written entry that is no double": (OWN, f"[{WRITTEN_OUT}]".replace("[0x1.0000000000000p+0", "[1/3"),
                                              MALFORMED, "1/3 as entry 0"),
        "few entries": (OWN, "[1, 1.5, 2]", MALFORMED, "2048 numbers"),
        "no entries": (OWN, "[]", MALFORMED, "at least one"),
        "a constant that is no double": ("0x400000021f6e3p-51", "0.1", MALFORMED, "a binary64 number"),
        "a constant of 54 bits": ("0x1f473de6af278fp-93", "0x3e8e7bcd5e4f1fp-94", MALFORMED, "a binary64 number"),
        "a constant that is too large": ("0xb17217fp-39", "0x1p1024", MALFORMED, "a binary64 number"),
        "a score that is no double": ("0xa267e096ac44fp-58", "1/3", MALFORMED, "of at most scores_up_to"),
        "a score beyond the others": ("0xa267e096ac44fp-58", "11001", MALFORMED, "of at most scores_up_to"),
        "no scores": ("scores_up_to: 11000", "scores_up_to: 0", MALFORMED, "a number > 0"),
        "a negative bound": ("2.26356e-16", "-2.26356e-16", MALFORMED, "a number >= 0"),
        "nan": ("2.26356e-16", "nan", MALFORMED, "an exact number"),
        "used by another": ("used_by: kernel", "used_by: numpy", MALFORMED, "'kernel'"),
        "one constant is missing": ("    C3: 0x2aaaaaab8409fp-52\n", "", MALFORMED, "no 'C3'"),
        "no table": (f"  table: {OWN}\n", "", MALFORMED, "no 'table'"),
        "no scores_up_to": ("  scores_up_to: 11000\n", "", MALFORMED, "no 'scores_up_to'"),
        "nothing asserted": (
            "    at_most: 2.26356e-16\n    at: {score: 0xa267e096ac44fp-58, at_least: 2.24681e-16}\n", "    {}\n",
            MALFORMED, "nothing that is asserted"),
        "nothing but the kernel": (
            "  relative_error:\n    at_most: 2.26356e-16\n"
            "    at: {score: 0xa267e096ac44fp-58, at_least: 2.24681e-16}\n",
            "", MALFORMED, "no 'relative_error'"),
        "at without a bound": (", at_least: 2.24681e-16", "", MALFORMED, "no 'at_least'"),
        "one more constant": ("    C3: ", "    C4: 0\n    C3: ", MALFORMED, "'C4'"),
        "a witness": ("asserts:\n", "witness: {bits: 64}\nasserts:\n", MALFORMED, "unknown key"),
        # The statement with used_by would be refuted for that reason alone: see the next family.
        "other constants than the kernel's": ("0x2aaaaaab8409fp-52", "0x15555555555555p-55", REFUTED, "of the kernel"),
        "another table than the kernel's": (OWN, table("table-1000-down"), REFUTED, "the table of the kernel"),
    },
)  # fmt: skip


FAMILIES = [KERNEL]
