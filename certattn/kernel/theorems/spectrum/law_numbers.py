"""The numbers of the limit law, as certificates give them: beta and lambda, or alpha^2, beta^2 and lambda."""

from __future__ import annotations

from certattn.kernel.document.schema import Field, Rational

# Beyond, alpha^2 has more digits than can be handled.
LARGEST_BETA = 1000

BETA = Field("beta", Rational(above=0), "the inverse temperature of softmax(beta S)")
LAMBDA = Field("lambda", Rational(above=0), "d_qk/d, the dimension of queries and keys over the number of tokens")
ALPHA2 = Field("alpha2", Rational(above=0), "alpha^2, the variance that is not linear in the scores")
BETA2 = Field("beta2", Rational(above=0), "beta^2, the variance that is")
