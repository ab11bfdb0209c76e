"""A derivation must notice a kernel that runs another formula than the derived one.

Each case edits the source of one kernel module in one place and re-proves one step with the same
checks that `certattn derive --check` runs. An edit whose old text is no longer in the kernel fails
the test: it must then be brought up to date.
"""

from __future__ import annotations

import pytest
from wrong_formulas import assert_noticed

from certattn.theory import DERIVATIONS
from certattn.theory.derivation import Step, prove
from certattn.theory.kernel_reading import Kernel, source_of


def _step(title: str) -> Step:
    # "mean: ..." is a step of `softmax-mean`, where titles would be those of another derivation too.
    of_mean = title.startswith("mean: ")
    every = (step for name in DERIVATIONS if (name == "softmax-mean") == of_mean for step in DERIVATIONS[name].steps)
    (found,) = [step for step in every if step.title.startswith(title.removeprefix("mean: "))]
    return found


def _edited(module: str, old: str, new: str) -> Kernel:
    source = source_of(module)
    assert source.count(old) == 1, f"{source.count(old)} places in {module} read {old!r}"
    return Kernel({module: source.replace(old, new)})


LAWS, FUNCTIONS, OPERATORS = "kernel.mathematics.laws", "kernel.mathematics.functions", "kernel.mathematics.operator"
BOUND, VALUE = "fast.exponential_bound", "kernel.theorems.arithmetic.binary64_exponential"
SOFTMAX, EXACT, BALLS = "kernel.mathematics.softmax", "kernel.mathematics.exact_matrix", "kernel.mathematics.balls"
MOMENTS, SPECTRUM, ASSERTIONS = (
    "kernel.mathematics.softmax_moments",
    "kernel.mathematics.spectrum",
    "kernel.theorems.attention.softmax_mean",
)
SUMS, MGF, SERIES, SUPPORTS = (
    "kernel.theorems.prompts.mathematics.weighted_sums", "kernel.theorems.prompts.mathematics.series",
    "kernel.theorems.prompts.mathematics.series", "kernel.theorems.prompts.mathematics.weighted_sums",
)  # fmt: skip
IMAGE = "kernel.theorems.prompts.infinite_prompt_operator"
PARTS = CAPPED = "kernel.mathematics.capped_sums"
MEAN_SQUARE, LAW_MOMENTS, POWERS = (
    "kernel.theorems.prompts.mathematics.mean_square",
    "kernel.mathematics.law_moments",
    "kernel.mathematics.softmax_powers",
)
CELLS = "kernel.theorems.attention.cells"

WRONG = [
    # -- the mean square over random prompts
    ("Gaussian tokens: Stein", MEAN_SQUARE, "- 6 * kappa * shift", "- 5 * kappa * shift"),
    ("Gaussian tokens: Stein", MEAN_SQUARE, "- 6 * kappa * shift", "+ 6 * kappa * shift"),
    ("Gaussian tokens: Stein", MEAN_SQUARE, "q * (spread + shift)", "q * spread"),
    ("Gaussian tokens: Stein", MEAN_SQUARE, "return -q", "return q"),
    ("Moments of the weights", POWERS, "sums[index] + last", "sums[index]"),
    ("Moments of the weights", POWERS, "yield [*sums, last]", "yield sums"),
    ("Moments of the weights", POWERS, "math.perm(length, blocks)", "math.comb(length, blocks)"),
    ("Moments of the weights", POWERS, "math.perm(length, blocks)", "length**blocks"),
    ("Closed bounds of", MEAN_SQUARE, "(length - 1) * (-variance).exp()", "length * (-variance).exp()"),
    ("Closed bounds of", MEAN_SQUARE, "(length - 1) * (-variance).exp()", "(length - 1) * (-2 * variance).exp()"),
    ("Closed bounds of", MEAN_SQUARE, "spread - shift / 2", "spread - shift / 4"),
    ("Markov's inequality for", MEAN_SQUARE, "mean_square / (eps * eps)", "mean_square / eps"),
    ("Markov's inequality for", MEAN_SQUARE, "mean_square / (eps * eps)", "mean_square / (2 * eps * eps)"),
    ("Markov's inequality for", MEAN_SQUARE, "q * (spread + shift)", "q * spread"),
    ("Weights tilt", MEAN_SQUARE, "doubled * (spread + shift)", "doubled * spread"),
    ("Weights tilt", MEAN_SQUARE, "doubled * (spread + shift)", "spread + shift"),
    ("Second and fourth", LAW_MOMENTS, "natural_power((c * a).tanh(), 2)", "(c * a).tanh()"),
    ("Second and fourth", LAW_MOMENTS, "- 2 * langevin_ratio(x)", "- langevin_ratio(x)"),
    ("Second and fourth", LAW_MOMENTS, "c**4 / 5", "c**4 / 9"),
    ("Second and fourth", LAW_MOMENTS, "+ 2 * product_trace(GC, CG)", "+ product_trace(GC, CG)"),
    ("Second and fourth", LAW_MOMENTS, "+ 4 * form(covariance", "+ 2 * form(covariance"),
    ("Second and fourth", LAW_MOMENTS, "pure + 4 * linear", "pure + linear"),
    ("Second and fourth", LAW_MOMENTS, "3 * natural_power(second[i], 2)", "natural_power(second[i], 2)"),
    ("The normaliser is", MEAN_SQUARE, "rate * rate * doubled / 2", "rate * rate * doubled"),
    ("The normaliser is", MEAN_SQUARE, "rate * (1 - t) + quadratic", "rate * t + quadratic"),
    ("The normaliser is", MEAN_SQUARE, "(1 - t) ** 2) + rest", "(1 - t)) + rest"),
    # -- Gaussian
    ("Gaussian tokens: comp", LAWS, "for row in self.covariance]) / 2", "for row in self.covariance])"),
    ("Gaussian tokens: comp", LAWS, "dot(tilt, self.mean) + dot(", "dot(tilt, self.mean) - dot("),
    ("Gaussian tokens: comp", LAWS, "return [m + dot(row, tilt)", "return [m - dot(row, tilt)"),
    ("Gaussian tokens: comp", LAWS, "return [m + dot(row, tilt)", "return [m + 2 * dot(row, tilt)"),
    ("Gaussian tokens: comp", LAWS, "return [m + dot(row, tilt)", "return [dot(row, tilt)"),
    # Sigma missing: m + a
    ("Gaussian tokens: comp", LAWS, "[m + dot(row, tilt) for m, row in zip(self.mean, self.covariance, strict=True)]",
     "[m + t for m, t in zip(self.mean, tilt, strict=True)]"),
    # -- signs, boxes and their functions
    ("Independent signs", LAWS, "[c * (c * a).tanh()", "[(c * a).tanh()"),
    ("Independent signs", LAWS, "[c * (c * a).tanh()", "[c * a.tanh()"),
    ("Independent signs", LAWS, "[c * (c * a).tanh()", "[-c * (c * a).tanh()"),
    ("Independent signs", LAWS, "log_cosh(c * a)", "log_cosh(2 * c * a)"),
    ("Independent signs", FUNCTIONS, "(((-2 * size).exp() + 1) / 2).log()", "((-2 * size).exp() + 1).log()"),
    ("Independent signs", FUNCTIONS, "size = abs(x)\n    return", "size = x\n    return -"),
    ("The functions", FUNCTIONS, "(((-2 * size).exp() + 1) / 2).log()", "(((-size).exp() + 1) / 2).log()"),
    ("The functions", FUNCTIONS, "(1 - (-2 * size).exp()) / (2 * size)", "(1 - (-2 * size).exp()) / size"),
    ("The functions", FUNCTIONS, "(1 - (-2 * size).exp()) / (2 * size)", "(1 + (-2 * size).exp()) / (2 * size)"),
    ("The functions", FUNCTIONS, "(x * x / 4).hypgeom_0f1(fmpq(3, 2))", "(x * x / 4).hypgeom_0f1(fmpq(5, 2))"),
    ("The functions", FUNCTIONS, "(x * x / 4).hypgeom_0f1(fmpq(3, 2))", "(x * x / 2).hypgeom_0f1(fmpq(3, 2))"),
    ("The functions", FUNCTIONS, "x.coth() - 1 / x", "x.coth() + 1 / x"),
    ("The functions", FUNCTIONS, "x.coth() - 1 / x", "x.tanh() - 1 / x"),
    ("The functions", FUNCTIONS, "return x * langevin_ratio(", "return x / 2 * langevin_ratio("),
    ("The functions", FUNCTIONS, "fmpq(3, 2)) / 3", "fmpq(3, 2)) / 2"),
    ("The functions", FUNCTIONS, "fmpq(5, 2)) /", "fmpq(7, 2)) /"),
    ("Tokens uniform", LAWS, "[c * langevin(c * a)", "[langevin(c * a)"),
    ("Tokens uniform", LAWS, "log_sinhc(c * a)", "log_sinhc(a)"),
    ("Tokens uniform", FUNCTIONS, "x.coth() - 1 / x", "x.coth()"),
    # -- atoms and mixtures
    ("Tokens drawn", LAWS, "[w * dot(tilt, y).exp()", "[dot(tilt, y).exp()"),
    ("Tokens drawn", LAWS, "[w * dot(tilt, y).exp()", "[w * (-dot(tilt, y)).exp()"),
    ("Tokens drawn", LAWS, "dot(shares, column) / total", "dot(shares, column)"),
    ("Mixtures", LAWS, "w * (part - parts[0]).exp()", "w * (parts[0] - part).exp()"),
    ("Mixtures", LAWS, "w * (part - parts[0]).exp()", "w"),
    ("Mixtures", LAWS, "sum((w * part.exp() for", "sum((part.exp() for"),
    # -- the operator
    ("Attention of a law", OPERATORS, "table_of_balls(queries @ self.U.T, scale_ball(self.scale))\n        V =",
     "table_of_balls(queries @ self.U.T, arb(1))\n        V ="),
    ("Attention of a law", OPERATORS, "dot(row, mean) - x", "dot(row, mean) + x"),
    ("Attention of a law", OPERATORS, "queries @ self.U.T", "queries @ self.U"),
    ("Attention of a law", "kernel.given.attention", "_or_identity(self.K, self.dimension).T @",
     "_or_identity(self.K, self.dimension) @"),
    ("Gaussian tokens: att", OPERATORS, "V @ ExactMatrix.rational(law.covariance) @ U", "V @ U"),
    ("Gaussian tokens: att", OPERATORS, "V @ ExactMatrix.rational(law.covariance) @ U",
     "ExactMatrix.rational(law.covariance) @ U"),
    ("Gaussian tokens: att", OPERATORS, "mean @ V.T", "mean @ V"),
    ("Gaussian tokens: att", OPERATORS, "(self.offset - point)", "(self.offset + point)"),
    ("Gaussian tokens: att", OPERATORS, "queries @ self.matrix.T, scale_ball(self.scale)",
     "queries @ self.matrix.T, arb(1)"),
    ("Gaussian tokens: att", OPERATORS, "queries @ self.matrix.T", "queries @ self.matrix"),
    ("Gaussian tokens: att", BALLS, "arb(scale.radicand).sqrt()", "arb(scale.radicand)"),
    ("Gaussian tokens: att", BALLS, "factor / matrix.denominator", "factor"),
    ("Gaussian tokens: att", "kernel.mathematics.reals", "else value * value", "else value"),
    ("The law of the queries", IMAGE, ".scaled(square(affine.scale))", ""),
    ("The law of the queries", IMAGE, "affine.offset + linear.scaled(affine.scale)", "affine.offset + linear"),
    ("The law of the queries", IMAGE, "affine.offset + linear.scaled(affine.scale)",
     "affine.offset - linear.scaled(affine.scale)"),
    ("The law of the queries", IMAGE, "affine.matrix @ ExactMatrix.rational(law.covariance) @ affine.matrix.T",
     "affine.matrix @ affine.matrix.T"),
    ("The law of the queries", IMAGE, "    elif linear.is_zero():", "    elif True:"),
    ("Keys and values", "kernel.given.prompts", "whole.take_rows(range(keys, keys + outputs))",
     "whole.take_rows(range(outputs))"),
    ("Gradients", OPERATORS, "V @ ExactMatrix.rational(law.covariance) @ U", "V @ U"),
    ("A finite prompt", LAWS, "[w * dot(tilt, y).exp()", "[w * (2 * dot(tilt, y)).exp()"),
    # -- conditions under which a law is called affine
    ("Other laws", OPERATORS, "if size != 0 and U", "if size == 1 and U"),
    ("Other laws", OPERATORS, "U.take_rows([j]).is_zero() is not True and ", ""),
    ("Other laws", OPERATORS, "if _rows_agree(points @ U) or", "if True or"),
    ("Other laws", OPERATORS, "ExactMatrix.row_vector(law.weights) @ points", "points.take_rows([0])"),
    ("Other laws", OPERATORS, "_rows_agree(means) is not True or ", ""),
    ("Other laws", OPERATORS, "matrix + found[0].scaled(weight)", "matrix + found[0]"),
    ("A law that does not", LAWS, "[c * (c * a).tanh()", "[c * c * a"),
    # -- the concrete prompt
    ("The sums", SOFTMAX, "self.values.centred(self.values.mean_row())", "self.values"),
    ("The sums", SOFTMAX, "(queries.denominator * keys.denominator)", "queries.denominator"),
    ("The sums", SOFTMAX, "(normaliser * values.denominator)", "normaliser"),
    ("The sums", SOFTMAX, "moment / (normaliser", "-moment / (normaliser"),
    ("The sums", EXACT, "self.denominator * self.rows)", "self.denominator)"),
    ("The prompt's own", EXACT, ".scaled(fmpq(1, left.rows))", ""),
    ("The prompt's own", EXACT, ".scaled(fmpq(1, left.rows))", ".scaled(fmpq(1, left.rows + 1))"),
    ("The prompt's own", EXACT, "(centred.T @ right)", "(right.T @ centred)"),
    ("The prompt's own", EXACT, "centred = left.centred(left.mean_row())", "centred = left"),
    ("The linear limit", "kernel.theorems.attention.output_deviation", "covariance(exact.values, exact.keys)",
     "covariance(exact.keys, exact.values)"),
    ("The linear limit", "kernel.theorems.attention.output_deviation",
     "AffineMap(slope, exact.values.mean_row(), self.prompt.scale)",
     "AffineMap(slope, exact.values.take_rows([0]), self.prompt.scale)"),
    ("Tokens with weight", "kernel.theorems.attention.output_deviation", " @ self.prompt.query_map\n", "\n"),
    ("Tokens with weight", "kernel.given.prompts", "Prompt(first @ K.T if K is not None else first,", "Prompt(first,"),
    ("Under a mask", "kernel.theorems.attention.output_deviation", "self._own_moments(prefix) if",
     "self._own_moments(self.prompt.exact) if"),
    ("Under a mask", "kernel.theorems.attention.output_deviation", "self._compared(prefix,",
     "self._compared(self.prompt.exact,"),
    ("Under a mask", "kernel.mathematics.softmax", "seen = range(count)", "seen = range(count - 1, count)"),
    ("Under a mask", "kernel.theorems.attention.output_deviation", "norm([x + m for", "norm([x - m for"),
    ("The deviation", "kernel.given.prompts", "[[x - y for", "[[x + y for"),
    ("The deviation", "kernel.given.prompts",
     "= limit.from_point(exact.values.mean_row(), stated)",
     "= limit.from_point(exact.values.take_rows([0]), stated)"),
    ("The norms", BALLS, "total += entry * entry", "total += entry"),
    ("The norms", BALLS, "largest.max(abs(entry))", "largest.max(entry)"),
    # -- the exponential in binary64
    ("The argument is split", BOUND, "LOG2 = 11", "LOG2 = 10"),
    ("The operations", VALUE, "rounded(score - rounded(k * function.l1))", "rounded(score + rounded(k * function.l1))"),
    ("The operations", VALUE, " - rounded(k * function.l2))", ")"),
    ("The operations", VALUE, "r = rounded(r + tail)", "r = rounded(r - tail)"),
    ("The operations", VALUE, "rounded(r * function.c3) + function.c2", "rounded(r * function.c2) + function.c3"),
    ("The operations", VALUE, "rounded(rounded(rounded(cubic * r) + 1) * r)", "rounded(rounded(cubic * r) * r)"),
    ("The operations", VALUE, "rounded(entry + rounded(cubic * entry))", "rounded(1 + rounded(cubic * entry))"),
    ("A parabola", BOUND, "arb(a * a / (4 * b))", "arb(a * a / (2 * b))"),
    ("A parabola", BOUND, "-a / (2 * b)", "-a / b"),
    ("A parabola", BOUND, "abs(a * end + b * end**2)", "abs(a * end + b * end)"),
    ("A parabola", BOUND, "return at_end if outside else", "return at_end if True else"),
    ("The constants C2", BOUND, "fmpq(1, 24)", "fmpq(1, 25)"),
    ("The constants C2", BOUND, "fmpq(1, 120)", "fmpq(1, 60)"),
    ("The constants C2", BOUND, "fmpq(1, 6) - function.c3", "fmpq(1, 6) + function.c3"),
    ("The constants C2", BOUND, "odd = radius * ", "odd = "),
    ("The constants C2", BOUND, "radius**6 * radius.exp() / 720", "radius**6 / 720"),
    ("Cases in closed form", SOFTMAX, "[exponent.exp() for", "[exponent.exp() * exponent.exp() for"),
    # -- moments under softmax weights
    ("mean: The sums", SOFTMAX, "(normaliser * values.denominator)", "normaliser"),
    ("mean: The sums", SOFTMAX, "[exponent.exp() for", "[exponent.exp() * exponent.exp() for"),
    ("mean: The sums", MOMENTS, "(entry - left_sum * y / total)", "entry"),
    ("mean: The sums", MOMENTS, "(entry - left_sum * y / total)", "(entry + left_sum * y / total)"),
    ("mean: The sums", MOMENTS, "left_sum * y / total", "left_sum * y"),
    ("mean: The sums", MOMENTS, "total * left.denominator * right.denominator", "total * left.denominator"),
    ("mean: The sums", MOMENTS, "total * left.denominator * right.denominator", "left.denominator * right.denominator"),
    ("mean: The sums", MOMENTS, "w * entry for w, row", "entry for w, row"),
    ("mean: The sums", MOMENTS, "self.first_score + sum", "sum"),
    ("mean: The sums", MOMENTS, "self.first_score + sum", "-self.first_score + sum"),
    ("mean: The sums", MOMENTS, "prompt.keys.take_rows([0])", "prompt.keys.take_rows([prompt.keys.rows - 1])"),
    ("mean: The sums", MOMENTS, ".T, scale_ball(prompt.scale))", ".T, arb(1))"),
    ("mean: The sums", MOMENTS, '"values-keys": ("values", "keys")', '"values-keys": ("keys", "values")'),
    ("mean: The sums", MOMENTS, '"keys": self.tokens.keys}', '"keys": self.tokens.values}'),
    ("mean: What is", MOMENTS, "x + gap for", "x - gap for"),
    ("mean: What is", MOMENTS, "self.tokens.mean - stated", "stated - self.tokens.mean"),
    ("mean: What is", MOMENTS, "values.centred(self.mean)", "values.centred(self.prompt.values.take_rows([0]))"),
    ("mean: What is", ASSERTIONS, "[x - y for", "[x + y for"),
    ("mean: What is", ASSERTIONS, "weighted.log_normaliser() - self", "weighted.log_normaliser() + self"),
    ("mean: Tokens with", "kernel.theorems.attention.softmax_mean", " @ prompt.query_map.T", ""),
    ("mean: Squares", SPECTRUM, "matrix * (1 / scale)", "matrix"),
    ("mean: Squares", SPECTRUM, "return scaled * scaled", "return scaled"),
    ("mean: Squares", SPECTRUM, "scale * largest.nonnegative_part().sqrt()", "largest.nonnegative_part().sqrt()"),
    ("mean: Squares", SPECTRUM, "scale * largest.nonnegative_part().sqrt()", "scale * largest.nonnegative_part()"),
    ("mean: Between", SPECTRUM, "scale * scale * square_trace / trace", "scale * square_trace / trace"),
    ("mean: Between", SPECTRUM, "scale * scale * square_trace / trace", "scale * scale * square_trace"),
    ("mean: The smallest", SPECTRUM, "c if i == j else arb(0)", "c"),
    ("mean: The smallest", SPECTRUM, "return matrix + arb_mat(", "return matrix * arb_mat("),
    ("mean: The smallest", SPECTRUM, "1 / largest - c", "1 / largest + c"),
    ("mean: The smallest", SPECTRUM, "1 / largest - c", "largest - c"),
    ("mean: Cases", MOMENTS, "(entry - left_sum * y / total)", "entry"),
    ("Tokens with weight", "kernel.given.prompts", "self.exact.keys @ self.query_map", "self.exact.keys"),
    # -- regions of queries
    ("Around one query", CELLS, "[power / total for", "[power for"),
    ("Around one query", CELLS, "self._keys @ cell.centre.T, scale", "self._keys @ cell.centre.T, arb(1)"),
    ("Around one query", CELLS, "self._keys @ cell.directions.T, scale", "self._keys @ cell.directions.T, arb(1)"),
    ("Around one query", CELLS, "[[x - mean for x, mean in zip(row,", "[[x for x, mean in zip(row,"),
    ("Around one query", CELLS, "[w * (v - mean) for", "[w * v for"),
    ("Around one query", CELLS, "[x - y for x, y in zip(output,", "[x + y for x, y in zip(output,"),
    ("Around one query", CELLS, "from_point(self._mean, cell.centre)",
     "from_point(self._mean - self._mean, cell.centre)"),
    ("Around one query", CELLS, "scale_ball(self.limit.scale)", "arb(1)"),
    ("Around one query", CELLS, "self.limit.matrix @ cell.directions.T", "-self.limit.matrix @ cell.directions.T"),
    ("Around one query", CELLS, "row[k] * row[m]", "row[k] * row[k]"),
    ("Around one query", CELLS, "places[min(k, m), max(k, m)]", "places[k, k]"),
    ("Around one query", CELLS, "(factor / matrix.denominator)", "factor"),
    ("Over a cell", CELLS, "[x - y for x, y in zip(output,", "[x + y for x, y in zip(output,"),
    ("Over a cell", CELLS, "arb_mat(weighed) * arb_mat(around)", "arb_mat(weighed) * tilts * 2"),
    ("How large", FUNCTIONS, "(power - 1 - t) / (t * t)", "(power - 1) / (t * t)"),
    ("How large", FUNCTIONS, "(power - 1 - t) / (t * t)", "(power - 1 - t) / t"),
    ("How large", FUNCTIONS, "t * (power + 5) / 720", "t * (power + 5) / 1440"),
    ("How large", FUNCTIONS, "t * (power + 5) / 720", "t / 120"),
    ("How large", FUNCTIONS, "fmpq(1, 24) + t *", "fmpq(1, 48) + t *"),
    ("Suprema", CELLS, "2 * self.reach(along)", "self.reach(along)"),
    ("Suprema", CELLS, "+ self.form(turned * slopes)", "+ self.form(turned * slopes) / 2"),
    ("Suprema", CELLS, "[abs(d) + self.reach(row) for", "[self.reach(row) for"),
    ("Suprema", CELLS, "return sum((abs(entry) for entry in slope), arb(0))", "return linf_norm(slope)"),
    ("Suprema", CELLS, "return sum((abs(entry) for entry in matrix.entries()), arb(0))",
     "return linf_norm(matrix.entries())"),
    ("Suprema", CELLS, "[d + b for d, b in zip(offset, row, strict=True)]", "[b for b in row]"),
    ("Suprema", CELLS, "matrix = matrix * matrix", "matrix = matrix * matrix * matrix"),
    ("Cells cover", CELLS, "(x + y) / 2 for", "(x + y) / 3 for"),
    ("Cells cover", CELLS, "half = self.halves[axis] / 2", "half = self.halves[axis] / 3"),
    ("Cells cover", CELLS, "for side in (-half, half)", "for side in (half, half)"),
    ("Cells cover", CELLS, "_replaced(self.corners, j, middle)", "_replaced(self.corners, i, middle)"),
    ("Cells cover", CELLS, "ExactMatrix.identity(self.centre.columns).scaled(self.radius)",
     "ExactMatrix.identity(self.centre.columns).scaled(self.radius / 2)"),
    # -- tails of random prompts
    ("Moments of one token", SUMS, "[k * a for a in self.tilt]", "self.tilt"),
    ("Moments of one token", SUMS, "(-k * self.log_mgf).exp()", "(-self.log_mgf).exp()"),
    ("Moments of one token", SUMS, "-(self.mean + self.eps), k", "-self.mean, k"),
    ("Moments of one token", MGF, "value + c_vv * rows[0][j - 2]", "value + 2 * c_vv * rows[0][j - 2]"),
    ("Moments of one token", MGF, "mean = law.tilted_mean(tilt)", "mean = law.mean"),
    ("Moments of one token", MGF, "up + down if n % 2 == 0", "up + down if n % 2 == 1"),
    ("Moments of one token", MGF, "(n + 1, 1) if n % 2 == 0", "(n + 1, 3) if n % 2 == 0"),
    ("Moments of one token", MGF, "(x * x / 4).hypgeom(", "(x * x / 2).hypgeom("),
    ("Moments of one token", MGF, "average if n % 2 == 0 else x * average", "average"),
    ("Moments of one token", MGF, "linear_exponential(dot(v, y), q)", "linear_exponential(dot(v, y) / 2, q)"),
    ("Moments of one token", MGF, "dot(law.weights, column)", "sum(column)"),
    ("Moments of one token", SERIES, "found[-1] * slope / n", "found[-1] * slope"),
    ("Cantelli's", SUMS, "2 * self.power_mean(2) - self.eps * self.eps", "2 * self.power_mean(2)"),
    ("Cantelli's", SUMS, "2 * self.power_mean(2) -", "self.power_mean(2) -"),
    ("Cantelli's", SUMS, "variance / (variance + length", "variance / (length"),
    ("Even moments of the sum", SUMS, "found * k / (length * eps)", "found / (length * eps)"),
    ("Even moments of the sum", SUMS, "power(series, length)[order]", "power(series, length + 1)[order]"),
    ("Even moments of the sum", SERIES, "row[: j + 1][::-1] for row", "row[: j + 1] for row"),
    ("Even moments of the sum", SERIES, "square = product(square, square)", "square = product(square, series)"),
    ("Exponentials by", SUMS, "exp_remainder(order, slope * largest) * factorial(order)",
     "exp_remainder(order, slope * largest)"),
    ("Exponentials by", SUMS, "for j in range(1, order):\n        total",
     "for j in range(1, order + 1):\n        total"),
    ("Exponentials by", FUNCTIONS, "fmpq(order + 1, 1))", "fmpq(order, 1))"),
    ("Exponentials by", FUNCTIONS, "1)) / math.factorial(order)", "1))"),
    ("Exponentials by", SUMS, "+ self.eps) - 1 - self.log_mgf)", "+ self.eps) - self.log_mgf)"),
    ("Exponentials by", SUMS, "- 1 - self.log_mgf).exp() / slope", "- 1 - self.log_mgf).exp()"),
    ("Exponentials by", SUMS, "- self.mean - self.eps) + self.eps", "- self.mean - self.eps)"),
    ("Exponentials by", SUMS, "a + slope * v for a, v in zip(self.tilt", "a - slope * v for a, v in zip(self.tilt"),
    ("Exponentials by", SUPPORTS, "dot(law.sizes, [abs(a) for a in tilt])", "sum(law.sizes)"),
    ("Gaussian tokens from", PARTS, "across * across / along", "across / along"),
    ("Gaussian tokens from", PARTS, "square(scale) * along", "along"),
    ("Gaussian tokens from", PARTS, "spread - slope_squared", "spread"),
    ("Gaussian tokens from", PARTS, "dot(direction, centre) - level", "dot(direction, centre) + level"),
    ("Gaussian tokens from", PARTS, "dot(tilt, centre) - log_mgf", "dot(tilt, centre)"),
    ("Capped summands", CAPPED, "1 - (1 - whole.outside) ** length +", "whole.outside +"),
    ("Capped summands", CAPPED, "whole.inside**length", "whole.inside"),
    ("Capped summands", BALLS, "(x * arb(2).rsqrt()).erfc() / 2", "(x * arb(2).rsqrt()).erfc()"),
    ("The noise", CAPPED, "(centre + spread * spread / 2).exp()", "(centre + spread * spread).exp()"),
    ("The noise", CAPPED, "(height - end * end / 2).exp()", "height.exp()"),
    ("The noise", CAPPED, "scaled_erfc(k * arb(2).rsqrt()) / 2", "scaled_erfc(k) / 2"),
    ("The noise", CAPPED, "square.hypgeom_u(arb(1) / 2, arb(1) / 2) /", "square.hypgeom_u(arb(1) / 2, arb(1) / 2) *"),
    ("The noise", CAPPED, "spread - end)", "spread + end)"),
    ("The noise", CAPPED, "Exponents(steep * mean,", "Exponents(weight * mean,"),
    ("The noise", CAPPED, "normal_tail((cap / weight - plane.mu", "normal_tail((cap - plane.mu"),
    ("Outputs without", CAPPED, "-1 / plane.s - plane.mu / plane.c", "-1 / plane.s"),
    ("Outputs without", CAPPED, "exp() * (plane.mu + plane.c * g)\n", "exp() * plane.mu\n"),
]  # fmt: skip


@pytest.mark.parametrize(("title", "module", "old", "new"), WRONG, ids=[f"{t}: {n.strip()}" for t, _, _, n in WRONG])
def test_a_wrong_formula_is_caught(title: str, module: str, old: str, new: str) -> None:
    assert_noticed([_step(title)], module, old, new)


# Other formulas for the same thing: what counts is equality, not the text.
RIGHT = [
    ("Mixtures", LAWS, "w * (part - parts[0]).exp()", "w * part.exp()"),
    ("The functions", FUNCTIONS, "x.coth() - 1 / x", "1 / x.tanh() - 1 / x"),
    ("The sums", SOFTMAX, "self.keys.centred(self.keys.take_rows([0])).T", "self.keys.T"),
    ("The prompt's own", EXACT, "(centred.T @ right)", "(centred.T @ right.centred(right.mean_row()))"),
    ("mean: The sums", MOMENTS, "prompt.keys.centred(self.prompt.keys.mean_row())", "prompt.keys"),
    ("mean: Between", SPECTRUM, "scale * scale * square_trace / trace", "square_trace / trace * scale * scale"),
    ("Cantelli's", SUMS, "variance / (variance + length * eps * eps)", "1 / (1 + length * eps * eps / variance)"),
    ("Outputs without", CAPPED, "-1 / plane.s - plane.mu / plane.c", "-(1 / plane.s + plane.mu / plane.c)"),
]


@pytest.mark.parametrize(("title", "module", "old", "new"), RIGHT, ids=[f"{t}: {n}" for t, _, _, n in RIGHT])
def test_an_equal_formula_is_accepted(title: str, module: str, old: str, new: str) -> None:
    assert prove(_step(title), _edited(module, old, new)).holds
