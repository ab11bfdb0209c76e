(** Rows of max-margin problems over integers. *)
From Coq Require Import Reals ZArith List Bool Lra Lia.
From CertAttn Require Import Statements Integers.
Import ListNotations.
Open Scope R_scope.

Fixpoint minusZ (x y : list Z) : list Z :=
  match x, y with u :: x', v :: y' => (u - v)%Z :: minusZ x' y' | _, _ => [] end.
Definition differencesZ (alpha : nat) (K : list (list Z)) : list (list Z) :=
  map (minusZ (nth alpha K [])) (others alpha K).
Fixpoint selectionZ (alphas : list nat) (inputs : list (list (list Z))) : list (list Z) :=
  match alphas, inputs with
  | a :: alphas', K :: inputs' => differencesZ a K ++ selectionZ alphas' inputs'
  | _, _ => []
  end.
Definition outerZ (q z : list Z) : list Z := flat_map (fun u => map (fun v => (u * v)%Z) q) z.
Fixpoint matricesZ (alphas : list nat) (inputs : list (list (list Z))) (Q : list (list Z)) : list (list Z) :=
  match alphas, inputs, Q with
  | a :: alphas', K :: inputs', q :: Q' => map (outerZ q) (differencesZ a K) ++ matricesZ alphas' inputs' Q'
  | _, _, _ => []
  end.
Fixpoint labelledZ (labels : list Z) (points : list (list Z)) : list (list Z) :=
  match labels, points with
  | y :: labels', x :: points' => map (fun u => (y * u)%Z) x :: labelledZ labels' points'
  | _, _ => []
  end.
Definition wideZ (n : nat) (inputs : list (list (list Z))) : bool :=
  forallb (forallb (fun k => Nat.eqb (length k) n)) inputs.

Lemma wide_mat : forall n d inputs, wideZ n inputs = true -> wide n (map (mat d) inputs).
Proof.
  unfold wideZ, wide, mat. intros n d inputs H. rewrite Forall_map, Forall_forall. intros K HK.
  rewrite Forall_map, Forall_forall. intros k Hk. rewrite length_vec.
  rewrite forallb_forall in H. specialize (H _ HK). rewrite forallb_forall in H. apply Nat.eqb_eq. auto.
Qed.

Lemma image_inputs : forall d e W inputs,
  map (map (image (mat d W))) (map (mat e) inputs) = map (mat (d * e)) (map (map (imageZ W)) inputs).
Proof. intros. rewrite !map_map. apply map_ext. intros. apply images_mat. Qed.

Lemma others_map : forall (A B : Type) (f : A -> B) alpha l, others alpha (map f l) = map f (others alpha l).
Proof. intros A B f alpha l. revert alpha. induction l as [|x l IH]; intros [|a]; simpl; auto. now rewrite IH. Qed.
Lemma minus_vec : forall d x y, minus (vec d x) (vec d y) = vec d (minusZ x y).
Proof.
  unfold vec. intros d. induction x as [|u x IH]; intros [|v y]; simpl; auto. rewrite IH. f_equal.
  rewrite minus_IZR. field. apply den_neq_0.
Qed.
Lemma differences_mat : forall alpha d K, differences alpha (mat d K) = mat d (differencesZ alpha K).
Proof.
  intros. unfold differences, differencesZ, mat. change (@nil R) with (vec d []).
  rewrite (map_nth (vec d)), others_map, !map_map. apply map_ext. intros. apply minus_vec.
Qed.
Lemma selection_mat : forall alphas d inputs,
  selection_rows alphas (map (mat d) inputs) = mat d (selectionZ alphas inputs).
Proof.
  induction alphas as [|a alphas IH]; intros d [|K inputs]; simpl; auto.
  rewrite IH, differences_mat. unfold mat. now rewrite map_app.
Qed.

Lemma outer_vec : forall d e q z, outer (vec e q) (vec d z) = vec (d * e) (outerZ q z).
Proof.
  intros d e q z. unfold outer, outerZ, vec. induction z as [|u z IH]; simpl; auto.
  rewrite IH, map_app, !map_map. f_equal. apply map_ext. intros v. rewrite mult_IZR, den_mul. field.
  split; apply den_neq_0.
Qed.
Lemma matrices_mat : forall alphas d inputs e Q,
  matrix_rows alphas (map (mat d) inputs) (mat e Q) = mat (d * e) (matricesZ alphas inputs Q).
Proof.
  induction alphas as [|a alphas IH]; intros d [|K inputs] e [|q Q]; simpl; auto.
  rewrite IH, differences_mat.
  unfold mat. rewrite map_app, !map_map. f_equal. apply map_ext. intros. apply outer_vec.
Qed.

Lemma labelled_mat : forall labels d points,
  labelled_rows (vec 1 labels) (mat d points) = mat d (labelledZ labels points).
Proof.
  induction labels as [|y labels IH]; intros d [|x points]; simpl; auto.
  f_equal. 2: apply IH. unfold vec. rewrite !map_map. apply map_ext. intros u. rewrite mult_IZR. field.
  apply den_neq_0.
Qed.
