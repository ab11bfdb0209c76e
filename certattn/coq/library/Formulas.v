(** Closed formulas of bounds: definitions only. d queries and d keys of width p with independent N(0, 1) entries, and
    beta^2; the pages of the claims have the theorems that make statements about matrices of them. *)
From Coq Require Import Reals.
Open Scope R_scope.

(** base^(-p/2) *)
Definition power (p base : R) : R := exp (- (p / 2) * ln base).
(** E exp(a beta^2 |x|^2 / p), and E e^k of an entry e *)
Definition mean_exponential (p beta2 a : R) : R := power p (1 - 2 * a * (beta2 / p)).
Definition mean_power (p beta2 k : R) : R := power p (1 - k * (k - 1) * (beta2 / p)).
(** E (e - 1)^4 *)
Definition fourth_moment (p beta2 : R) : R :=
  mean_power p beta2 4 - 4 * mean_power p beta2 3 + 6 * mean_power p beta2 2 - 4 * mean_power p beta2 1
  + mean_power p beta2 0.
(** A bound of P(|x|^2 > cut p) *)
Definition long_query (p cut : R) : R := exp ((ln cut + 1 - cut) * (p / 2)).

(** * What the normaliser changes *)
Definition normalizer_square (d p beta2 : R) : R :=
  ((mean_exponential p beta2 2 - 2 * mean_exponential p beta2 1 + 1) * (d - 1) + fourth_moment p beta2) / (d * d).
Definition normalizer_bound (d p beta2 theta cut : R) : R :=
  normalizer_square d p beta2 / ((1 - theta) * (1 - theta))
  + (exp (- (theta * theta * d) / 2 * exp (- (cut * beta2))) + long_query p cut) * (d - 1).

(** * Linearisation of the covariance *)
Definition off_diagonal (p b : R) : R :=
  power p (1 - 4 * (b * b)) + 1 + p * (b * b) - 2 * power p (1 - b * b)
  - 2 * (power p (1 - b * b) / (1 - b * b)) * (p * (b * b)).
Definition on_diagonal (p beta2 b : R) : R :=
  mean_exponential p beta2 2 - 2 * (mean_exponential p beta2 1 / (1 - 2 * b) * beta2)
  + (beta2 * beta2 + 2 * beta2 * b)
  - 2 * (exp beta2 - beta2) * (mean_exponential p beta2 1 - beta2)
  + (exp beta2 - beta2) * (exp beta2 - beta2).
Definition linearisation (d p beta2 : R) : R :=
  off_diagonal p (beta2 / p) * (d * (d - 1)) + on_diagonal p beta2 (beta2 / p) * d.

(** * Gaussian columns *)
(** Queries are typical except with this probability. *)
Definition improbable (d p cut coherence excess : R) : R :=
  (long_query p cut + long_query (d - 1) cut) * d
  + exp (- (coherence * coherence) * p / (2 * cut)) * (d * d) + exp (- (excess * excess) / 2).
(** The largest eigenvalue, sums of squares of a row without the diagonal *)
Definition largest_norm (d p excess : R) : R := (sqrt d + sqrt p + excess) * (sqrt d + sqrt p + excess) / p.
Definition largest_row (d p cut : R) : R := cut * cut * (d - 1) / p.
(** Means over queries: of the squared entries of the covariance, on the diagonal also with a weight *)
Definition diagonal_squares (p beta2 : R) : R :=
  mean_exponential p beta2 2 - 2 * mean_exponential p beta2 1 + 1.
Definition weighted_squares (p beta2 : R) : R :=
  mean_exponential p beta2 6 - 2 * mean_exponential p beta2 5 + mean_exponential p beta2 4
  - mean_exponential p beta2 2 + 2 * mean_exponential p beta2 1 - 1.
Definition other_squares (d p beta2 : R) : R :=
  (power p (1 - 4 * ((beta2 / p) * (beta2 / p))) - 2 * power p (1 - (beta2 / p) * (beta2 / p)) + 1) * (d - 1).
(** e^y - 1 - y *)
Definition rest (y : R) : R := exp y - 1 - y.
Definition plain_sum (d p beta2 cut coherence s : R) : R :=
  s * beta2 * sqrt (1 + (d + 1) / p) + rest (s * beta2 * cut)
  + sqrt (largest_row d p cut) * rest (s * beta2 * coherence) / coherence.
Definition norm_sum (d p beta2 cut coherence excess s : R) : R :=
  s * beta2 * largest_norm d p excess + rest (s * beta2 * cut)
  + largest_row d p cut * rest (s * beta2 * coherence) / (coherence * coherence).
(** The variance of a quadratic form of a column, over d: four parts *)
Definition form_diagonal (d p beta2 cut coherence excess : R) : R :=
  weighted_squares p beta2
  + diagonal_squares p beta2
    * (4 * beta2 * largest_norm d p excess
       + largest_row d p cut * rest (4 * beta2 * coherence) / (coherence * coherence)).
Definition form_plain (d p beta2 cut coherence : R) : R :=
  plain_sum d p beta2 cut coherence 2 * plain_sum d p beta2 cut coherence 2
  - 2 * (plain_sum d p beta2 cut coherence 1 * plain_sum d p beta2 cut coherence 1).
Definition form_single (d p beta2 cut coherence excess : R) : R :=
  4 * other_squares d p beta2 * norm_sum d p beta2 cut coherence excess 1.
Definition form_rest (d p beta2 cut coherence excess : R) : R :=
  (exp (beta2 * coherence) - 1) * (exp (beta2 * coherence) - 1)
  * (norm_sum d p beta2 cut coherence excess 2 * norm_sum d p beta2 cut coherence excess 2
     - 2 * (norm_sum d p beta2 cut coherence excess 1 * norm_sum d p beta2 cut coherence excess 1)).
Definition form_root (d p beta2 cut coherence excess : R) : R :=
  sqrt (form_diagonal d p beta2 cut coherence excess) + sqrt (form_plain d p beta2 cut coherence)
  + sqrt (form_single d p beta2 cut coherence excess) + sqrt (form_rest d p beta2 cut coherence excess).
Definition form_variance (d p beta2 cut coherence excess : R) : R :=
  form_root d p beta2 cut coherence excess * form_root d p beta2 cut coherence excess.
Definition mean_universality (d p beta2 eta cut coherence excess : R) : R :=
  (form_variance d p beta2 cut coherence excess + 2 * (diagonal_squares p beta2 + other_squares d p beta2))
    / (eta * eta * eta * d)
  + improbable d p cut coherence excess / eta.
Definition deviation_bound (d eta x : R) : R := 2 * exp (- (eta * eta * (x * x)) * d).

(** * From attention to its Gaussian equivalent *)
Definition lipschitz (eta : R) : R := 3 * sqrt 3 / 8 / (eta * sqrt eta).
(** The mean of tr Sigma_lin^2 / d *)
Definition linear_squares (d p beta2 : R) : R :=
  rest beta2 * rest beta2 + 2 * rest beta2 * beta2 + beta2 * beta2 * (1 + (d + 1) / p).
Definition rank_one (d p beta2 eta : R) : R :=
  (mean_exponential p beta2 1 - 1) / (eta * (eta + (mean_exponential p beta2 1 - 1)) * d).
Definition equivalence_bound (d p beta2 eta theta cut coherence excess : R) : R :=
  lipschitz eta * sqrt (normalizer_bound d p beta2 theta cut) + rank_one d p beta2 eta
  + (form_variance d p beta2 cut coherence excess + 2 * linear_squares d p beta2) / (eta * eta * eta * d)
  + sqrt (linearisation d p beta2 / d) / (eta * eta) + improbable d p cut coherence excess / eta.
