(** What the theorems of certificates are made of: vectors and matrices as lists of reals, softmax attention, norms,
    max-margin problems. To understand what a certificate states in Coq, read this file and nothing else: it has
    definitions only. *)
From Coq Require Import Reals ZArith List.
Import ListNotations.
Open Scope R_scope.

(** * Numbers *)

Definition vector := list R.
Definition matrix := list vector.

(** Integers over one common denominator, as instances write numbers. *)
Definition vec (den : positive) (l : list Z) : vector := map (fun z => IZR z / IZR (Zpos den)) l.
Definition mat (den : positive) (rows : list (list Z)) : matrix := map (vec den) rows.
Definition ratio (num : Z) (den : positive) : R := IZR num / IZR (Zpos den).

(** The factor of scores: a rational, or the square root of one. *)
Inductive scale := Ratio (num : Z) (den : positive) | Root (num : Z) (den : positive).
Definition factor (s : scale) : R :=
  match s with Ratio a b => ratio a b | Root a b => sqrt (ratio a b) end.

(** * Vectors and matrices *)

Definition shaped (rows columns : nat) (M : matrix) : Prop :=
  length M = rows /\ Forall (fun row => length row = columns) M.

(** Sum of a_i x_i; lists of different lengths never meet here, because [shaped] is part of every theorem. *)
Fixpoint dot (a x : vector) : R :=
  match a, x with u :: a', v :: x' => u * v + dot a' x' | _, _ => 0 end.
Fixpoint total (x : vector) : R := match x with [] => 0 | u :: x' => u + total x' end.
Fixpoint minus (x y : vector) : vector :=
  match x, y with u :: x', v :: y' => (u - v) :: minus x' y' | _, _ => [] end.
(** M x *)
Definition image (M : matrix) (x : vector) : vector := map (fun row => dot row x) M.
Definition columns (M : matrix) : nat := length (hd [] M).
Definition column (c : nat) (M : matrix) : vector := map (fun row => nth c row 0) M.
Definition ones (M : matrix) : vector := map (fun _ => 1) M.

(** * Softmax attention *)

(** w_i exp(s <k_i, q>): the weights that tokens have at the query q, not normalised. *)
Fixpoint tilts (s : R) (weights : vector) (keys : matrix) (q : vector) : vector :=
  match weights, keys with
  | w :: ws, k :: ks => w * exp (s * dot k q) :: tilts s ws ks q
  | _, _ => []
  end.
(** The mean of y_i under weights t_i, and the covariance of x_i and y_i. *)
Definition mean (t y : vector) : R := dot t y / total t.
Fixpoint products (x y : vector) : vector :=
  match x, y with u :: x', v :: y' => u * v :: products x' y' | _, _ => [] end.
Definition covariance (t x y : vector) : R := mean t (products x y) - mean t x * mean t y.

(** Attention over a law with finitely many atoms (k_i, v_i) of probabilities w_i, and over a prompt of tokens. *)
Definition attention_over (s : scale) (weights : vector) (keys values : matrix) (q : vector) : vector :=
  map (fun c => mean (tilts (factor s) weights keys q) (column c values)) (seq 0 (columns values)).
Definition attention (s : scale) (keys values : matrix) (q : vector) : vector :=
  attention_over s (ones keys) keys values q.

(** log Z(q), as a vector of one entry. *)
Definition log_normaliser (s : scale) (keys : matrix) (q : vector) : vector :=
  [ln (total (tilts (factor s) (ones keys) keys q))].

(** The entries of the covariance of x and y under the softmax weights of q, row by row. *)
Definition covariances (s : scale) (keys xs ys : matrix) (q : vector) : vector :=
  flat_map (fun a => map (fun b =>
    covariance (tilts (factor s) (ones keys) keys q) (column a xs) (column b ys))
    (seq 0 (columns ys))) (seq 0 (columns xs)).

(** The covariance of x as a matrix. Its eigenvalues are real, for it is symmetric. *)
Definition covariance_matrix (s : scale) (keys xs : matrix) (q : vector) : matrix :=
  map (fun a => map (fun b => covariance (tilts (factor s) (ones keys) keys q) (column a xs) (column b xs))
    (seq 0 (columns xs))) (seq 0 (columns xs)).
Definition eigenvalue (M : matrix) (l : R) : Prop :=
  exists x, length x = length M /\ 0 < dot x x /\ image M x = map (fun u => l * u) x.
(** A bound for all eigenvalues of each matrix. *)
Inductive spectral_bound :=
  | no_smaller (den : positive) (bounds : list Z)
  | no_larger (den : positive) (bounds : list Z).
Definition spectra (Ms : list matrix) (b : spectral_bound) : Prop :=
  match b with
  | no_smaller d rs => Forall2 (fun M r => forall l, eigenvalue M l -> r <= l) Ms (vec d rs)
  | no_larger d rs => Forall2 (fun M r => forall l, eigenvalue M l -> l <= r) Ms (vec d rs)
  end.

(** offset + s A z *)
Fixpoint affine_map (s : scale) (A : matrix) (offset z : vector) : vector :=
  match A, offset with
  | row :: A', b :: offset' => b + factor s * dot row z :: affine_map s A' offset' z
  | _, _ => []
  end.

(** v_bar + s Cov(v, k) q with the prompt's own moments; Cov(v, k) q is the covariance of v and <k, q>. *)
Definition empirical_limit (s : scale) (keys values : matrix) (q : vector) : vector :=
  map (fun c => mean (ones keys) (column c values)
    + factor s * covariance (ones keys) (column c values) (map (fun k => dot k q) keys))
  (seq 0 (columns values)).

(** ** Who sees what *)

(** Those from [first] on, without [stop] and what comes after it, counted from 0. *)
Definition between {A : Type} (first stop : nat) (l : list A) : list A := skipn first (firstn stop l).
(** Every query sees a token, and of [n] tokens none that is not there. *)
Definition sighted (n : nat) (first stop : list nat) : Prop := Forall2 (fun a b => (a < b <= n)%nat) first stop.
(** [f] at each query, of the keys and values that it sees: those from first_i on, without stop_i. *)
Fixpoint at_queries (f : matrix -> matrix -> vector -> vector) (keys values : matrix) (first stop : list nat)
    (queries : matrix) : list vector :=
  match first, stop, queries with
  | a :: first', b :: stop', q :: queries' =>
      f (between a b keys) (between a b values) q :: at_queries f keys values first' stop' queries'
  | _, _, _ => []
  end.
(** The same for several heads, each with its own keys, values and queries. *)
Fixpoint at_heads (f : matrix -> matrix -> vector -> vector) (keys values : list matrix) (first stop : list (list nat))
    (queries : list matrix) : list matrix :=
  match keys, values, first, stop, queries with
  | K :: keys', V :: values', a :: first', b :: stop', Q :: queries' =>
      at_queries f K V a b Q :: at_heads f keys' values' first' stop' queries'
  | _, _, _, _, _ => []
  end.
(** Each of them so many times, one after the other: heads of keys that so many heads of queries share. *)
Definition shared_by {A : Type} (count : nat) (l : list A) : list A := flat_map (fun x => repeat x count) l.
Definition stacked (count rows columns : nat) (Ms : list matrix) : Prop :=
  length Ms = count /\ Forall (shaped rows columns) Ms.

(** ** Scores that kernels change: by a soft cap, by a slope for each token between the diagonal of a query and the token,
    by a sink, which is one more token of value 0, and by a mask *)

Inductive cap := uncapped | capped (num : Z) (den : positive).
Definition cap_score (c : cap) (x : R) : R :=
  match c with uncapped => x | capped a d => ratio a d * tanh (x / ratio a d) end.
Inductive sink := no_sink | sink_of (den : positive) (num : Z).
Definition sink_weight (z : sink) : R := match z with no_sink => 0 | sink_of d a => exp (ratio a d) end.

(** Weights of the tokens from number j on, for a query with the token r on its diagonal. A mark of 0 hides a token. *)
Fixpoint ruled_tilts (c : cap) (s slope : R) (j r : Z) (marks : list Z) (keys : matrix) (q : vector) : vector :=
  match marks, keys with
  | m :: marks', k :: keys' =>
      (if Z.eqb m 0 then 0 else exp (cap_score c (s * dot k q) - slope * IZR (Z.abs (r - j))))
      :: ruled_tilts c s slope (j + 1) r marks' keys' q
  | _, _ => []
  end.
Definition hides_all (marks : list Z) : bool := forallb (Z.eqb 0) marks.
(** Attention, which is 0 where all tokens are hidden, and log Z. *)
Definition ruled_attention (c : cap) (s : scale) (slope : R) (z : sink) (r : Z) (marks : list Z)
    (keys values : matrix) (q : vector) : vector :=
  let t := ruled_tilts c (factor s) slope 0 r marks keys q in
  map (fun a => if hides_all marks then 0 else dot t (column a values) / (total t + sink_weight z))
    (seq 0 (columns values)).
Definition ruled_log (c : cap) (s : scale) (slope : R) (z : sink) (r : Z) (marks : list Z)
    (keys values : matrix) (q : vector) : vector :=
  [ln (total (ruled_tilts c (factor s) slope 0 r marks keys q) + sink_weight z)].
Definition ruled_log2 (c : cap) (s : scale) (slope : R) (z : sink) (r : Z) (marks : list Z)
    (keys values : matrix) (q : vector) : vector :=
  map (fun u => u / ln 2) (ruled_log c s slope z r marks keys values q).

(** [f] at each query of each head, with the slope and the sink of the head, and the diagonal and marks of the query. *)
Fixpoint ruled_queries (f : R -> sink -> Z -> list Z -> matrix -> matrix -> vector -> vector) (slope : R) (z : sink)
    (diagonal : list Z) (marks : list (list Z)) (keys values queries : matrix) : matrix :=
  match diagonal, marks, queries with
  | r :: diagonal', m :: marks', q :: queries' =>
      f slope z r m keys values q :: ruled_queries f slope z diagonal' marks' keys values queries'
  | _, _, _ => []
  end.
Fixpoint ruled_heads (f : R -> sink -> Z -> list Z -> matrix -> matrix -> vector -> vector) (slopes : vector)
    (sinks : list sink) (diagonals : list (list Z)) (marks : list (list (list Z))) (keys values queries : list matrix)
    : list matrix :=
  match slopes, sinks, diagonals, marks, keys, values, queries with
  | a :: slopes', z :: sinks', r :: diagonals', m :: marks', K :: keys', V :: values', Q :: queries' =>
      ruled_queries f a z r m K V Q :: ruled_heads f slopes' sinks' diagonals' marks' keys' values' queries'
  | _, _, _, _, _, _, _ => []
  end.

(** * Distances *)

(** The largest entry, the Euclidean length, the root mean square of the entries. *)
Inductive norm := linf | l2 | rms.
Definition squares (x : vector) : R := total (map (fun u => u * u) x).
Definition size (n : norm) (x : vector) : R :=
  match n with
  | linf => fold_right (fun u m => Rmax (Rabs u) m) 0 x
  | l2 => sqrt (squares x)
  | rms => sqrt (squares x / INR (length x))
  end.

Fixpoint each (P : vector -> vector -> R -> Prop) (xs ys : list vector) (rs : vector) : Prop :=
  match xs, ys, rs with
  | [], [], [] => True
  | x :: xs', y :: ys', r :: rs' => length x = length y /\ P x y r /\ each P xs' ys' rs'
  | _, _, _ => False
  end.
Fixpoint some (P : vector -> vector -> Prop) (xs ys : list vector) : Prop :=
  match xs, ys with
  | x :: xs', y :: ys' => (length x = length y /\ P x y) \/ some P xs' ys'
  | _, _ => False
  end.

(** What is asserted of the distances of x_i and y_i: a bound for each, or a lower one for some; [times]: in units of
    the size of x_i. *)
Inductive bound :=
  | at_most_each (den : positive) (radii : list Z)
  | at_least_each (den : positive) (radii : list Z)
  | at_least_somewhere (num : Z) (den : positive)
  | at_most_times_each (den : positive) (factors : list Z)
  | at_least_times_somewhere (num : Z) (den : positive).
Definition holds (n : norm) (xs ys : list vector) (b : bound) : Prop :=
  match b with
  | at_most_each d rs => each (fun x y r => size n (minus x y) <= r) xs ys (vec d rs)
  | at_least_each d rs => each (fun x y r => r <= size n (minus x y)) xs ys (vec d rs)
  | at_least_somewhere a d => some (fun x y => ratio a d <= size n (minus x y)) xs ys
  | at_most_times_each d rs => each (fun x y r => size n (minus x y) <= r * size n x) xs ys (vec d rs)
  | at_least_times_somewhere a d =>
      some (fun x y => 0 < size n x /\ ratio a d * size n x <= size n (minus x y)) xs ys
  end.
Fixpoint distances (n : norm) (xs ys : list vector) (bounds : list bound) : Prop :=
  match bounds with [] => True | b :: bs => holds n xs ys b /\ distances n xs ys bs end.

(** * Errors of the output O of a kernel, where T is exact: lists of heads, with a row for each query *)

(** The unit in the last place of u is 2^e, among floats of p bits whose normal numbers begin at 2^least. *)
Definition has_unit (p least : Z) (u : R) (e : Z) : Prop :=
  Rabs u < powerRZ 2 (e + p) /\
  ((e = least - p + 1)%Z \/ ((least - p + 1 < e)%Z /\ powerRZ 2 (e + p - 1) <= Rabs u)).
Definition entries (heads : list matrix) : vector := concat (concat heads).
(** How many entries are larger than r. *)
Definition beyond (r : R) (x : vector) : Z :=
  fold_right (fun u n => if Rlt_dec r (Rabs u) then Z.succ n else n) 0%Z x.

(** Bounds for the errors of each head, all its entries in one vector; for those of each row; and for those of single
    entries, in units of the last place of the exact value; and how many entries are off by more than a radius. *)
Inductive assertion :=
  | by_head (n : norm) (bounds : list bound)
  | by_row (n : norm) (bounds : list bound)
  | ulps_at_most (p least num : Z) (den : positive)
  | ulps_at_least (p least num : Z) (den : positive)
  | beyond_at_most (num : Z) (den : positive) (count : Z)
  | beyond_at_least (num : Z) (den : positive) (count : Z).
Definition asserted (T O : list matrix) (a : assertion) : Prop :=
  match a with
  | by_head n bs => distances n (map (@concat R) T) (map (@concat R) O) bs
  | by_row n bs => distances n (concat T) (concat O) bs
  | ulps_at_most p l a d => Forall (fun tu => exists e, has_unit p l (fst tu) e /\
      Rabs (fst tu - snd tu) <= ratio a d * powerRZ 2 e) (combine (entries T) (entries O))
  | ulps_at_least p l a d => Exists (fun tu => exists e, has_unit p l (fst tu) e /\
      ratio a d * powerRZ 2 e <= Rabs (fst tu - snd tu)) (combine (entries T) (entries O))
  | beyond_at_most a d count => (beyond (ratio a d) (minus (entries T) (entries O)) <= count)%Z
  | beyond_at_least a d count => (count <= beyond (ratio a d) (minus (entries T) (entries O)))%Z
  end.
(** So many heads with so many rows and columns, of which all this is true. *)
Definition errors (count rows columns : nat) (T O : list matrix) (all : list assertion) : Prop :=
  stacked count rows columns T /\ stacked count rows columns O /\ Forall (asserted T O) all.

(** Logarithms to the base 2. *)
Definition log2_normaliser (s : scale) (keys : matrix) (q : vector) : vector :=
  map (fun u => u / ln 2) (log_normaliser s keys q).

(** * Max-margin problems: the least |q| with <z_j, q> >= r_j for all j *)

Fixpoint feasible (rows : matrix) (levels : vector) (q : vector) : Prop :=
  match rows, levels with
  | [], [] => True
  | z :: rows', r :: levels' => r <= dot z q /\ feasible rows' levels' q
  | _, _ => False
  end.

(** p is feasible, nothing feasible is shorter, and nothing else is as short. *)
Definition least_point (n : nat) (rows : matrix) (levels p : vector) : Prop :=
  length p = n /\ feasible rows levels p /\
  forall q, length q = n -> feasible rows levels q ->
    dot p p <= dot q q /\ (dot q q <= dot p p -> q = p).

(** The constraints j with a mark hold with equality at p, all others by more than [gap] >= 0, or at least by it. *)
Inductive apart := more_than_equal | at_least_by (num : Z) (den : positive).
Fixpoint tight_exactly (a : apart) (marks : list bool) (rows : matrix) (levels p : vector) : Prop :=
  match marks, rows, levels with
  | [], [], [] => True
  | m :: ms, z :: zs, r :: rs =>
      (if m then dot z p = r
       else match a with more_than_equal => r < dot z p | at_least_by g d => r + ratio g d <= dot z p end)
      /\ tight_exactly a ms zs rs p
  | _, _, _ => False
  end.

(** sum_j lambda_j z_j, in dimension n *)
Fixpoint combination (n : nat) (lambda : vector) (rows : matrix) : vector :=
  match lambda, rows with
  | l :: lambda', z :: rows' => map (fun uv => l * fst uv + snd uv) (combine z (combination n lambda' rows'))
  | _, _ => repeat 0 n
  end.
(** lambda_j >= 0, more than 0 exactly where there is a mark, and then with equality at p. *)
Fixpoint multiply (lambda : vector) (marks : list bool) (rows : matrix) (levels p : vector) : Prop :=
  match lambda, marks, rows, levels with
  | [], [], [], [] => True
  | l :: ls, m :: ms, z :: zs, r :: rs =>
      (if m then 0 < l /\ dot z p = r else l = 0) /\ multiply ls ms zs rs p
  | _, _, _, _ => False
  end.
Definition supported (n : nat) (marks : list bool) (rows : matrix) (levels p : vector) : Prop :=
  exists lambda, multiply lambda marks rows levels p /\ p = combination n lambda rows.

(** The margin, 1 / |p|. *)
Definition margin (p : vector) : R := / sqrt (dot p p).

(** ** The rows z_j of the problems: of token selection with vectors p, with matrices W, and of labelled points *)

Definition wide (n : nat) (inputs : list matrix) : Prop := Forall (Forall (fun k => length k = n)) inputs.
(** All but the one with this index. *)
Fixpoint others {A : Type} (alpha : nat) (l : list A) : list A :=
  match l, alpha with
  | [], _ => []
  | _ :: l', O => l'
  | x :: l', S a => x :: others a l'
  end.
(** k_alpha - k_t for all t but alpha *)
Definition differences (alpha : nat) (keys : matrix) : matrix := map (minus (nth alpha keys [])) (others alpha keys).
Fixpoint selection_rows (alphas : list nat) (inputs : list matrix) : matrix :=
  match alphas, inputs with
  | a :: alphas', keys :: inputs' => differences a keys ++ selection_rows alphas' inputs'
  | _, _ => []
  end.
(** z q', row by row: its product with W, row by row, is z' W q. *)
Definition outer (q z : vector) : vector := flat_map (fun u => map (fun v => u * v) q) z.
Fixpoint matrix_rows (alphas : list nat) (inputs : list matrix) (queries : matrix) : matrix :=
  match alphas, inputs, queries with
  | a :: alphas', keys :: inputs', q :: queries' =>
      map (outer q) (differences a keys) ++ matrix_rows alphas' inputs' queries'
  | _, _, _ => []
  end.
Fixpoint labelled_rows (labels : vector) (points : matrix) : matrix :=
  match labels, points with
  | y :: labels', x :: points' => map (fun u => y * u) x :: labelled_rows labels' points'
  | _, _ => []
  end.

(** * Token selection: inputs of several tokens, each token with a key and a score *)

(** So many tokens in each input, with keys of dimension n, and as many scores. *)
Definition scored (n : nat) (lengths : list nat) (inputs : list matrix) (scores : list vector) : Prop :=
  map (@length vector) inputs = lengths /\ map (@length R) scores = lengths /\ wide n inputs.
(** y_i <v, x> for the tokens x of input i *)
Fixpoint label_scores (labels v : vector) (inputs : list matrix) : list vector :=
  match labels, inputs with
  | y :: labels', X :: inputs' => map (fun x => y * dot v x) X :: label_scores labels' v inputs'
  | _, _ => []
  end.
(** How many ways there are to choose one token of every input. *)
Definition selections (lengths : list nat) : Z := fold_right (fun t m => (Z.of_nat t * m)%Z) 1%Z lengths.

(** Key and score of token t of input i. *)
Definition key (inputs : list matrix) (i t : nat) : vector := nth t (nth i inputs []) [].
Definition score (scores : list vector) (i t : nat) : R := nth t (nth i scores []) 0.

(** All tokens of the largest score among gamma, and no others. *)
Definition best_tokens (listed : list nat) (gamma : vector) : Prop :=
  forall t, In t listed <-> (t < length gamma)%nat /\ Forall (fun s => s <= nth t gamma 0) gamma.

(** alpha_i is a token of input i, for every input. *)
Definition selection (inputs : list matrix) (alphas : list nat) : Prop :=
  Forall2 (fun a keys => (a < length keys)%nat) alphas inputs.
(** <k_alpha_i - k_it, q> >= 1 for all t but alpha_i *)
Definition separates (inputs : list matrix) (alphas : list nat) (q : vector) : Prop :=
  feasible (selection_rows alphas inputs) (ones (selection_rows alphas inputs)) q.
(** p is the shortest of these, p_mm(alpha). *)
Definition max_margin (n : nat) (inputs : list matrix) (alphas : list nat) (p : vector) : Prop :=
  least_point n (selection_rows alphas inputs) (ones (selection_rows alphas inputs)) p.
(** Another token of an input, for which this holds with equality. *)
Definition neighbour (inputs : list matrix) (alphas : list nat) (p : vector) (i t : nat) : Prop :=
  (i < length inputs)%nat /\ (t < length (nth i inputs []))%nat /\ t <> nth i alphas O /\
  dot (minus (key inputs i (nth i alphas O)) (key inputs i t)) p = 1.
(** p_mm(alpha) exists, and its neighbours have smaller scores than the chosen tokens. *)
Definition locally_optimal (n : nat) (inputs : list matrix) (scores : list vector) (alphas : list nat) : Prop :=
  selection inputs alphas /\ exists p, max_margin n inputs alphas p /\
    forall i t, neighbour inputs alphas p i t -> score scores i t < score scores i (nth i alphas O).
(** It is not, because of a neighbour whose score is not smaller; or because nothing separates it. *)
Definition not_locally_optimal (n : nat) (inputs : list matrix) (scores : list vector)
    (alphas : list nat) (because : option (nat * nat)) : Prop :=
  selection inputs alphas /\ ~ locally_optimal n inputs scores alphas /\
  match because with
  | Some (i, t) => exists p, max_margin n inputs alphas p /\ neighbour inputs alphas p i t /\
      score scores i (nth i alphas O) <= score scores i t
  | None => forall q, ~ separates inputs alphas q
  end.
