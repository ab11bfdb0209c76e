"""Random prompts, and the errors of gradients over them, in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.kernel.document.quoting import counted
from certattn.kernel.given.attention import Weights
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.ball_of_queries import CENTRE, BallOfQueries
from certattn.kernel.theorems.prompts.output_mean_square import QUERY_LAW, AveragedPrompt
from certattn.kernel.theorems.prompts.random_prompts import QUERY, TILT, GradientError, RandomPrompt
from certattn.statements.given import gaussian_words, law_words, scaled, score_matrix_words
from certattn.statements.wording import Answer, show, show_upper

# Conditions of the frame of a tail, by the last part of a name.
CONDITIONS = {
    "frame": "0 if sum u_c u_c' - I is positive semidefinite, 1 if the frame is too small in some direction",
    "levels": "the smallest of the levels",
}


def lengths_latex(prompt: RandomPrompt | AveragedPrompt) -> str:
    """What is added to a formula that holds for every length from one on."""
    return rf", \quad L \ge {prompt.length}" if prompt.onwards else ""


_NORMS = {"V": "operator norm", "U": "Hilbert-Schmidt norm"}
_VARIABLES = {"V": "the matrix of values", "U": "U, at this query z,"}
FORMULAS = {
    "V": r"\| \partial_V T_L - \partial_V T \|_{\mathrm{op}}",
    "U": r"\| \partial_U T_L - \partial_U T \|_{\mathrm{HS}}",
}


def prompt_words(prompt: RandomPrompt | AveragedPrompt) -> str:
    """L independent tokens, the law that they are drawn from, and how they are weighted."""
    many = f"L independent tokens x, for every L >= {prompt.length}"
    tokens = (
        f"{many if prompt.onwards else counted(prompt.length, 'independent token') + ' x'}: {law_words(prompt.law)}"
    )
    if isinstance(prompt, AveragedPrompt):
        query = f"an independent Gaussian query z of {gaussian_words(prompt.given[QUERY_LAW])}"
        score = f"{scaled(prompt.scale, '<x, U z>', ' * ')} for {score_matrix_words(prompt.weights)}"
        return f"{tokens}, with the score {score}{_values(prompt.weights)}, and {query}"
    given = prompt.given
    assert given is not None
    if isinstance(prompt, BallOfQueries):
        score = f"{scaled(prompt.scale, '<x, U z>', ' * ')} for {score_matrix_words(prompt.weights)}"
        return (
            f"{tokens}, with the score {score}{_values(prompt.weights)}, and every query z with |z - z0| <= "
            f"{describe(prompt.radius)}, z0 = {prompt.ball[CENTRE].words()}"
        )
    if TILT in given:
        score = f"<a, x> for a = {given[TILT].words()}"
    else:
        weights = score_matrix_words(prompt.weights)
        score = f"{scaled(prompt.scale, '<x, U z>', ' * ')} for {weights} and z = {given[QUERY].words()}"
    return f"{tokens}, with the score {score}{_values(prompt.weights)}"


def _values(weights: Weights) -> str:
    return "" if weights.V is None else f" and values V x, V = {weights.V.words()}"


def error_words(error: GradientError) -> str:
    """The setting, and the norm D that something is stated of."""
    return (
        f"For a prompt of {prompt_words(error.prompt)}: the gradient of attention in {_VARIABLES[error.gradient]} over "
        f"the prompt differs from the gradient over the law of the tokens by a linear map of {_NORMS[error.gradient]} "
        "D, and"
    )


def by_ranges(starts: Sequence[int]) -> str:
    """What stands before a bound that is the largest over ranges of lengths; nothing for one length."""
    return f"over {counted(len(starts), 'range')} of lengths, " if starts else ""


def probability_words(obligation: Answer) -> list[str]:
    """What is proved of a probability beside what is stated; nothing where the ball is not finite."""
    proved = obligation.left
    if not isinstance(proved, arb) or proved.is_finite() is not True:
        return []
    return [f"probability at most {show_upper(proved)}, stated {show(obligation.right)}"]
