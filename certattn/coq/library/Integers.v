(** Exact integers under the numbers of [Statements], and the lemmas that lead from one to the other. *)
From Coq Require Import Reals ZArith List Bool Lra Lia.
From CertAttn Require Import Statements.
Import ListNotations.
Open Scope R_scope.

Fixpoint dotZ (a x : list Z) : Z :=
  match a, x with u :: a', v :: x' => (u * v + dotZ a' x')%Z | _, _ => 0%Z end.
Fixpoint productsZ (x y : list Z) : list Z :=
  match x, y with u :: x', v :: y' => (u * v)%Z :: productsZ x' y' | _, _ => [] end.
Definition columnZ (c : nat) (M : list (list Z)) : list Z := map (fun row => nth c row 0%Z) M.
Definition imageZ (M : list (list Z)) (x : list Z) : list Z := map (fun row => dotZ row x) M.

Lemma den_neq_0 : forall d, IZR (Zpos d) <> 0.
Proof. intros. apply not_0_IZR. discriminate. Qed.
Lemma den_gt_0 : forall d, 0 < IZR (Zpos d).
Proof. intros. apply IZR_lt. reflexivity. Qed.

Lemma den_mul : forall a b, IZR (Zpos (a * b)) = IZR (Zpos a) * IZR (Zpos b).
Proof. intros. now rewrite Pos2Z.inj_mul, mult_IZR. Qed.

Lemma dot_vec : forall da dx a x, dot (vec da a) (vec dx x) = ratio (dotZ a x) (da * dx).
Proof.
  intros da dx. pose proof (den_neq_0 da). pose proof (den_neq_0 dx). unfold ratio, vec. rewrite den_mul.
  induction a as [|u a IH]; intros [|v x]; simpl; try (unfold Rdiv; rewrite Rmult_0_l; reflexivity).
  rewrite IH, plus_IZR, mult_IZR. field. auto.
Qed.

Lemma nth_vec : forall d l c, nth c (vec d l) 0 = ratio (nth c l 0%Z) d.
Proof.
  unfold ratio, vec. intros d l. induction l as [|z l IH]; intros [|c]; simpl;
    try (unfold Rdiv; rewrite Rmult_0_l; reflexivity); auto.
Qed.

Lemma column_mat : forall c d M, column c (mat d M) = vec d (columnZ c M).
Proof.
  intros c d M. unfold column, columnZ, mat, vec. rewrite !map_map. apply map_ext.
  intros row. apply nth_vec.
Qed.

Lemma columns_mat : forall d M, columns (mat d M) = length (hd [] M).
Proof. intros d [|row M]; simpl; auto. unfold columns, vec. simpl. now rewrite map_length. Qed.

Lemma image_vec : forall d e M x, image (mat d M) (vec e x) = vec (d * e) (imageZ M x).
Proof.
  intros. unfold image, imageZ, mat. rewrite map_map. unfold vec at 3. rewrite map_map. apply map_ext.
  intros row. apply dot_vec.
Qed.

Lemma images_mat : forall d e M X, map (image (mat d M)) (mat e X) = mat (d * e) (map (imageZ M) X).
Proof. intros. unfold mat at 2 3. rewrite !map_map. apply map_ext. intros. apply image_vec. Qed.

Lemma products_vec : forall d e x y, products (vec d x) (vec e y) = vec (d * e) (productsZ x y).
Proof.
  intros d e. pose proof (den_neq_0 d). pose proof (den_neq_0 e).
  unfold vec. induction x as [|u x IH]; intros [|v y]; simpl; auto.
  rewrite IH. f_equal. rewrite den_mul, mult_IZR. field. auto.
Qed.

Lemma ones_mat : forall d M, ones (mat d M) = vec 1 (map (fun _ => 1%Z) M).
Proof.
  intros. unfold ones, mat, vec. rewrite !map_map. apply map_ext. intros. simpl. field.
Qed.

(** * Shapes *)
Definition shapedZ (rows cols : nat) (M : list (list Z)) : bool :=
  Nat.eqb (length M) rows && forallb (fun row => Nat.eqb (length row) cols) M.
Lemma shaped_mat : forall n m d M, shapedZ n m M = true -> shaped n m (mat d M).
Proof.
  unfold shapedZ, shaped, mat. intros n m d M H. apply andb_prop in H. destruct H as [H1 H2].
  rewrite map_length. split. now apply Nat.eqb_eq. rewrite forallb_forall in H2.
  rewrite Forall_map, Forall_forall. intros row Hr. unfold vec. rewrite map_length. apply Nat.eqb_eq. auto.
Qed.
Lemma length_vec : forall d l, length (vec d l) = length l.
Proof. intros. unfold vec. apply map_length. Qed.

Lemma ratio_1 : forall z, ratio z 1 = IZR z.
Proof. intros. unfold ratio. field. Qed.
Lemma dot_vec_r : forall t d l, dot t (vec d l) = dot t (map IZR l) / IZR (Zpos d).
Proof.
  intros t d. pose proof (den_neq_0 d).
  unfold vec. induction t as [|u t IH]; intros [|z l]; simpl; try (unfold Rdiv; rewrite Rmult_0_l; reflexivity).
  rewrite IH. field. auto.
Qed.
