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
Definition covariance_distance (d p beta2 : R) : R := linearisation d p beta2 / ((exp beta2 - 1 - beta2) * d).

(** * Gaussian columns *)
Definition largest_norm (d p excess : R) : R := (sqrt d + sqrt p + excess) * (sqrt d + sqrt p + excess) / p.
Definition slopes (d p beta2 cut : R) : R :=
  exp (cut * beta2)
  * ((mean_exponential p beta2 4 - 2 * mean_exponential p beta2 2 + 1) * d
     + (power p (1 - 16 * ((beta2 / p) * (beta2 / p))) - 2 * power p (1 - 4 * ((beta2 / p) * (beta2 / p))) + 1)
       * (d * (d - 1))).
Definition squares (d p beta2 : R) : R :=
  (mean_exponential p beta2 2 - 2 * mean_exponential p beta2 1 + 1) * d
  + (power p (1 - 4 * ((beta2 / p) * (beta2 / p))) - 2 * power p (1 - (beta2 / p) * (beta2 / p)) + 1)
    * (d * (d - 1)).
Definition universality_inside (d p beta2 eta cut excess : R) : R :=
  (4 * largest_norm d p excess * beta2
   * (slopes d p beta2 cut
      + exp (cut * beta2) ^ 5 * ((mean_exponential p beta2 1 - 1) * d))
   + 2 * squares d p beta2) / (eta * eta * eta * (d * d)).
Definition mean_universality (d p beta2 eta cut excess : R) : R :=
  universality_inside d p beta2 eta cut excess
  + (long_query p cut * d + exp (- (excess * excess) / 2)) / eta.
Definition deviation_bound (d eta x : R) : R := 2 * exp (- (eta * eta * (x * x)) * d).

(** * From attention to its Gaussian equivalent *)
Definition lipschitz (eta : R) : R := 3 * sqrt 3 / 8 / (eta * sqrt eta).
Definition equivalence_bound (d p beta2 eta theta cut excess : R) : R :=
  lipschitz eta * (sqrt (normalizer_bound d p beta2 theta cut) + sqrt (covariance_distance d p beta2))
  + 1 / (eta * d) + mean_universality d p beta2 eta cut excess.
