(** Distances between softmax attention and stated numbers, affine maps or laws: enclosed by intervals. An instance is
    checked by evaluating one boolean, [check]; that this proves the statement over the reals is proved here, once. *)
From Coq Require Import Reals ZArith List Bool Lra Lia.
From Interval Require Import Float.Sig Float.Specific_sig Interval.Interval.
From CertAttn Require Import Statements Integers Enclosures.
Import ListNotations.
Open Scope R_scope.

Module Softmax (C : FloatCarrier with Definition radix := Zaux.radix2).
Module Import E := Enclosures C.

Definition factorI (p : F.precision) (s : scale) : I.type :=
  match s with Ratio a b => ratioI p a b | Root a b => I.sqrt p (ratioI p a b) end.
Lemma enc_factor : forall p s, enc (factorI p s) (factor s).
Proof. intros p [a b|a b]; simpl. apply enc_ratio. apply enc_sqrt, enc_ratio. Qed.

(** * Weights of tokens *)

(** exp(s h / d), at one point where s h / d is a float *)
Definition expsI (p : F.precision) (s : scale) (root : I.type) (h : Z) (d : positive) : I.type :=
  match s with
  | Ratio a b => expI p (a * h) (b * d)
  | Root _ _ => I.exp p (I.mul p root (ratioI p h d))
  end.
Lemma enc_exps : forall p s h d, enc (expsI p s (factorI p s) h d) (exp (factor s * ratio h d)).
Proof.
  intros p [a b|a b] h d.
  - simpl. replace (ratio a b * ratio h d) with (ratio (a * h) (b * d)). apply enc_expI.
    unfold ratio. rewrite mult_IZR, den_mul. pose proof (den_neq_0 b). pose proof (den_neq_0 d). field. auto.
  - unfold expsI. apply enc_exp, enc_mul. apply enc_factor. apply enc_ratio.
Qed.

(** A weight 1 needs no product. *)
Definition timesI (p : F.precision) (dw : positive) (w : Z) (e : I.type) : I.type :=
  match w, dw with Zpos xH, xH => e | _, _ => I.mul p (ratioI p w dw) e end.
Lemma enc_times : forall p dw w e y, enc e y -> enc (timesI p dw w e) (ratio w dw * y).
Proof.
  intros p dw w e y H.
  assert (Hm : enc (I.mul p (ratioI p w dw) e) (ratio w dw * y)) by (apply enc_mul; auto; apply enc_ratio).
  unfold timesI. destruct w as [|[| |]|]; auto. destruct dw; auto.
  rewrite ratio_1, Rmult_1_l. auto.
Qed.

Fixpoint tiltsI (p : F.precision) (s : scale) (root : I.type) (dw : positive) (ws : list Z) (d : positive)
    (K : list (list Z)) (q : list Z) : list I.type :=
  match ws, K with
  | w :: ws', k :: K' => timesI p dw w (expsI p s root (dotZ k q) d) :: tiltsI p s root dw ws' d K' q
  | _, _ => []
  end.
Lemma enc_tilts : forall p s dw ws dk K dq q,
  encs (tiltsI p s (factorI p s) dw ws (dk * dq) K q) (tilts (factor s) (vec dw ws) (mat dk K) (vec dq q)).
Proof.
  intros p s dw ws dk K dq q. revert K.
  induction ws as [|w ws IH]; intros [|k K]; simpl; try constructor.
  - rewrite dot_vec. apply enc_times, enc_exps.
  - apply IH.
Qed.

(** The weights are positive, so that means exist and log Z is what it should be. *)
Definition positiveZ (ws : list Z) : bool := forallb (fun w => (0 <? w)%Z) ws.
Lemma tilts_total_gt_0 : forall s dw ws K q,
  positiveZ ws = true -> ws <> [] -> length ws = length K -> 0 < total (tilts s (vec dw ws) K q).
Proof.
  intros s dw ws K q. revert K. induction ws as [|w ws IH]; intros [|k K] Hp Hn Hl; simpl in *; try discriminate.
  congruence. apply andb_prop in Hp. destruct Hp as [Hw Hp]. apply Z.ltb_lt in Hw.
  assert (0 < IZR w / IZR (Zpos dw) * exp (s * dot k q)).
  { apply Rmult_lt_0_compat. 2: apply exp_pos. apply Rdiv_lt_0_compat. now apply IZR_lt. apply den_gt_0. }
  destruct ws as [|w' ws'].
  - simpl. lra.
  - specialize (IH K Hp). injection Hl as Hl. specialize (IH ltac:(discriminate) Hl). unfold vec in *. lra.
Qed.

(** * Quantities at a query; [T] encloses the weights, [S] their sum *)

Definition meanI (p : F.precision) (T : list I.type) (S : I.type) (d : positive) (col : list Z) : I.type :=
  let m := I.div p (dotI p T col) S in
  match d with xH => m | _ => I.div p m (I.fromZ p (Zpos d)) end.
Lemma enc_mean : forall p T t S d col, encs T t -> enc S (total t) -> total t <> 0 ->
  enc (meanI p T S d col) (mean t (vec d col)).
Proof.
  intros p T t S d col HT HS Hn. unfold mean. rewrite dot_vec_r.
  replace (dot t (map IZR col) / IZR (Z.pos d) / total t)
    with (dot t (map IZR col) / total t / IZR (Z.pos d)) by (field; split; auto; apply den_neq_0).
  pose proof (enc_div p _ _ _ _ Hn (enc_dot p T t HT col) HS) as H.
  assert (Hd := enc_div p _ _ _ _ (den_neq_0 d) H (enc_Z p (Zpos d))).
  unfold meanI. destruct d; auto. unfold Rdiv at 1. rewrite Rinv_1, Rmult_1_r. auto.
Qed.

Definition covarianceI (p : F.precision) (T : list I.type) (S : I.type) (d e : positive) (x y : list Z) : I.type :=
  I.sub p (meanI p T S (d * e) (productsZ x y)) (I.mul p (meanI p T S d x) (meanI p T S e y)).
Lemma enc_covariance : forall p T t S d e x y, encs T t -> enc S (total t) -> total t <> 0 ->
  enc (covarianceI p T S d e x y) (covariance t (vec d x) (vec e y)).
Proof.
  intros. unfold covariance. rewrite products_vec. apply enc_sub.
  - apply enc_mean; auto.
  - apply enc_mul; apply enc_mean; auto.
Qed.

Section Query.
(** Exponentials are enclosed with [pe] bits, which costs time, and added up with [p], which hardly does. *)
Variables (p pe : F.precision) (s : scale) (dw : positive) (ws : list Z) (dk : positive) (K : list (list Z)).
Variables (dq : positive).

Definition valid : bool := positiveZ ws && negb (Nat.eqb (length ws) 0) && Nat.eqb (length ws) (length K).
Definition weightsI (q : list Z) : list I.type := tiltsI pe s (factorI pe s) dw ws (dk * dq) K q.
Let t (q : list Z) : vector := tilts (factor s) (vec dw ws) (mat dk K) (vec dq q).

Lemma valid_total : valid = true -> forall q, 0 < total (t q).
Proof.
  unfold valid. intros H q. apply andb_prop in H. destruct H as [H Hl]. apply andb_prop in H. destruct H as [Hp Hn].
  apply tilts_total_gt_0; auto.
  - intros ->. discriminate.
  - unfold mat. rewrite map_length. now apply Nat.eqb_eq.
Qed.

Definition attentionI (dv : positive) (V : list (list Z)) (q : list Z) : list I.type :=
  let T := weightsI q in
  let S := totalI p T in
  map (fun c => meanI p T S dv (columnZ c V)) (seq 0 (length (hd [] V))).
Lemma enc_attention : valid = true -> forall dv V q,
  encs (attentionI dv V q) (attention_over s (vec dw ws) (mat dk K) (mat dv V) (vec dq q)).
Proof.
  intros H dv V q. unfold attention_over, attentionI. rewrite columns_mat.
  induction (seq 0 (length (hd [] V))) as [|c l IH]; simpl; constructor; auto.
  rewrite column_mat. pose proof (enc_tilts pe s dw ws dk K dq q) as HT.
  apply enc_mean; auto. apply enc_total; auto. apply Rgt_not_eq. apply (valid_total H q).
Qed.

Definition logI (q : list Z) : list I.type := [I.ln p (totalI p (weightsI q))].
Lemma enc_log : valid = true -> forall q, encs (logI q) [ln (total (t q))].
Proof.
  intros H q. constructor; [|constructor]. apply enc_ln. apply valid_total; auto. apply enc_total, enc_tilts.
Qed.

Definition covariancesI (dx dy : positive) (X Y : list (list Z)) (q : list Z) : list I.type :=
  let T := weightsI q in
  let S := totalI p T in
  flat_map (fun a => map (fun b => covarianceI p T S dx dy (columnZ a X) (columnZ b Y))
    (seq 0 (length (hd [] Y)))) (seq 0 (length (hd [] X))).
Lemma enc_covariances : valid = true -> forall dx dy X Y q,
  encs (covariancesI dx dy X Y q)
    (flat_map (fun a => map (fun b => covariance (t q) (column a (mat dx X)) (column b (mat dy Y)))
      (seq 0 (columns (mat dy Y)))) (seq 0 (columns (mat dx X)))).
Proof.
  intros H dx dy X Y q. unfold covariancesI. rewrite !columns_mat.
  induction (seq 0 (length (hd [] X))) as [|a l IH]; simpl. constructor.
  apply Forall2_app; auto. clear IH.
  induction (seq 0 (length (hd [] Y))) as [|b m IH]; simpl; constructor; auto.
  rewrite !column_mat. pose proof (enc_tilts pe s dw ws dk K dq q) as HT.
  apply enc_covariance; auto. apply enc_total; auto. apply Rgt_not_eq. apply (valid_total H q).
Qed.
End Query.

(** * Rows: the same for every query *)

Definition rows (xs : list (list I.type)) (ys : list vector) : Prop := Forall2 encs xs ys.

Lemma map_rows : forall (f : list Z -> list I.type) (g : vector -> vector) dq Q,
  (forall q, encs (f q) (g (vec dq q))) -> rows (map f Q) (map g (mat dq Q)).
Proof. intros f g dq Q H. unfold mat. induction Q; simpl; constructor; auto. Qed.

Definition prompt_ok (K : list (list Z)) : bool := negb (Nat.eqb (length K) 0).
Definition unit (K : list (list Z)) : list Z := map (fun _ => 1%Z) K.
Lemma valid_unit : forall K, prompt_ok K = true -> valid (unit K) K = true.
Proof.
  intros K H. unfold valid, unit. rewrite map_length, Nat.eqb_refl.
  unfold prompt_ok in H. rewrite H, !andb_true_r. unfold positiveZ. clear. induction K; simpl; auto.
Qed.

Definition stated_rows (p : F.precision) (d : positive) (M : list (list Z)) : list (list I.type) := map (vecI p d) M.
Lemma stated_rows_correct : forall p d M, rows (stated_rows p d M) (mat d M).
Proof. intros. unfold mat. induction M; simpl; constructor; auto. apply enc_vec. Qed.

Definition law_rows p pe s dw ws dk K dv V dq Q : list (list I.type) :=
  map (attentionI p pe s dw ws dk K dq dv V) Q.
Lemma law_rows_correct : forall p pe s dw ws dk K dv V dq Q, valid ws K = true ->
  rows (law_rows p pe s dw ws dk K dv V dq Q)
    (map (attention_over s (vec dw ws) (mat dk K) (mat dv V)) (mat dq Q)).
Proof. intros. apply map_rows. intros. now apply enc_attention. Qed.

Definition prompt_rows p pe s dk K dv V dq Q : list (list I.type) := law_rows p pe s 1 (unit K) dk K dv V dq Q.
Lemma prompt_rows_correct : forall p pe s dk K dv V dq Q, prompt_ok K = true ->
  rows (prompt_rows p pe s dk K dv V dq Q) (map (attention s (mat dk K) (mat dv V)) (mat dq Q)).
Proof.
  intros. unfold attention. rewrite ones_mat. apply law_rows_correct. now apply valid_unit.
Qed.

Definition log_rows p pe s dk K dq Q : list (list I.type) := map (logI p pe s 1 (unit K) dk K dq) Q.
Lemma log_rows_correct : forall p pe s dk K dq Q, prompt_ok K = true ->
  rows (log_rows p pe s dk K dq Q) (map (log_normaliser s (mat dk K)) (mat dq Q)).
Proof.
  intros. apply map_rows. intros q. unfold log_normaliser. rewrite ones_mat. apply enc_log. now apply valid_unit.
Qed.

Definition covariance_rows p pe s dk K dx X dy Y dq Q : list (list I.type) :=
  map (covariancesI p pe s 1 (unit K) dk K dq dx dy X Y) Q.
Lemma covariance_rows_correct : forall p pe s dk K dx X dy Y dq Q, prompt_ok K = true ->
  rows (covariance_rows p pe s dk K dx X dy Y dq Q)
    (map (covariances s (mat dk K) (mat dx X) (mat dy Y)) (mat dq Q)).
Proof.
  intros. apply map_rows. intros q. unfold covariances. rewrite ones_mat. apply enc_covariances. now apply valid_unit.
Qed.

(** offset + s A z *)
Fixpoint affineI (p : F.precision) (root : I.type) (da : positive) (A : list (list Z)) (db : positive) (b : list Z)
    (dq : positive) (q : list Z) : list I.type :=
  match A, b with
  | row :: A', x :: b' =>
      I.add p (ratioI p x db) (I.mul p root (ratioI p (dotZ row q) (da * dq))) :: affineI p root da A' db b' dq q
  | _, _ => []
  end.
Definition affine_rows p s da A db b dq Q : list (list I.type) := map (affineI p (factorI p s) da A db b dq) Q.
Lemma affine_rows_correct : forall p s da A db b dq Q,
  rows (affine_rows p s da A db b dq Q) (map (affine_map s (mat da A) (vec db b)) (mat dq Q)).
Proof.
  intros. apply map_rows. intros q. revert b.
  induction A as [|row A IH]; intros [|x b]; simpl; constructor.
  - apply enc_add. apply enc_ratio. rewrite dot_vec. apply enc_mul. apply enc_factor. apply enc_ratio.
  - apply IH.
Qed.

(** The moments of the prompt itself: rationals, up to the factor s. *)
Definition sumZ (l : list Z) : Z := fold_right Z.add 0%Z l.
Lemma total_ones : forall n, total (map (fun _ : list Z => 1) n) = IZR (Z.of_nat (length n)).
Proof.
  induction n as [|x n IH]; auto. cbn [map total length]. rewrite IH, Nat2Z.inj_succ, succ_IZR. ring.
Qed.
Lemma mean_ones : forall d (K : list (list Z)) dk l, length l = length K -> prompt_ok K = true ->
  mean (ones (mat dk K)) (vec d l) = ratio (sumZ l) (d * Pos.of_nat (length K)).
Proof.
  intros d K dk l Hl Hk. unfold mean, ratio.
  replace (ones (mat dk K)) with (map (fun _ : list Z => 1) K) by (unfold ones, mat; now rewrite map_map).
  rewrite total_ones, den_mul. rewrite dot_vec_r.
  assert (Hd : dot (map (fun _ : list Z => 1) K) (map IZR l) = IZR (sumZ l)).
  { clear Hk. revert K Hl. induction l as [|z l IH]; intros [|k K] Hl; try discriminate; simpl; auto.
    rewrite IH by (simpl in Hl; lia). unfold sumZ. simpl. rewrite plus_IZR. ring. }
  rewrite Hd. unfold prompt_ok in Hk. destruct K as [|k K]; try discriminate.
  set (m := length (k :: K)) in *.
  replace (IZR (Zpos (Pos.of_nat m))) with (IZR (Z.of_nat m)).
  2: { f_equal. rewrite <- positive_nat_Z, Nat2Pos.id; auto. unfold m. discriminate. }
  field. split. apply not_0_IZR. unfold m. simpl length. lia. apply den_neq_0.
Qed.

Definition empiricalI (p : F.precision) (root : I.type) (dk : positive) (K : list (list Z)) (dv : positive)
    (V : list (list Z)) (dq : positive) (q : list Z) : list I.type :=
  let n := Pos.of_nat (length K) in
  let h := map (fun k => dotZ k q) K in
  let dh := (dk * dq)%positive in
  map (fun c =>
    let v := columnZ c V in
    I.add p (ratioI p (sumZ v) (dv * n))
      (I.mul p root (I.sub p (ratioI p (sumZ (productsZ v h)) (dv * dh * n))
        (ratioI p (sumZ v * sumZ h) (dv * n * (dh * n))))))
    (seq 0 (length (hd [] V))).
Definition empirical_rows p s dk K dv V dq Q : list (list I.type) :=
  map (empiricalI p (factorI p s) dk K dv V dq) Q.
Lemma length_productsZ : forall x y, length x = length y -> length (productsZ x y) = length x.
Proof. induction x as [|u x IH]; intros [|v y] H; simpl in *; try discriminate; auto. Qed.
Lemma empirical_rows_correct : forall p s dk K dv V dq Q,
  prompt_ok K && Nat.eqb (length V) (length K) = true ->
  rows (empirical_rows p s dk K dv V dq Q) (map (empirical_limit s (mat dk K) (mat dv V)) (mat dq Q)).
Proof.
  intros p s dk K dv V dq Q H. apply andb_prop in H. destruct H as [Hk Hv]. apply Nat.eqb_eq in Hv.
  apply map_rows. intros q. unfold empirical_limit, empiricalI. rewrite columns_mat.
  induction (seq 0 (length (hd [] V))) as [|c l IH]; simpl; constructor; auto. clear IH l.
  rewrite column_mat.
  assert (Hc : length (columnZ c V) = length K) by (unfold columnZ; now rewrite map_length).
  assert (Hh : map (fun k => dot k (vec dq q)) (mat dk K) = vec (dk * dq) (map (fun k => dotZ k q) K)).
  { unfold mat, vec at 3. rewrite !map_map. apply map_ext. intros. apply dot_vec. }
  assert (Hl : length (map (fun k => dotZ k q) K) = length K) by apply map_length.
  rewrite Hh. unfold covariance. rewrite products_vec.
  rewrite !mean_ones; auto. 2: rewrite length_productsZ; congruence.
  apply enc_add. apply enc_ratio. apply enc_mul. apply enc_factor. apply enc_sub. apply enc_ratio.
  match goal with |- enc (ratioI _ (?a * ?b) (?d * ?e)) _ =>
    replace (ratio a d * ratio b e) with (ratio (a * b) (d * e)) end.
  apply enc_ratio. unfold ratio. rewrite mult_IZR, (den_mul (dv * _) (dk * dq * _)).
  field. split; apply den_neq_0.
Qed.

(** * The check *)

Fixpoint eachI (f : list I.type -> list I.type -> I.type -> bool) (p : F.precision) (xs ys : list (list I.type))
    (rs : list I.type) : bool :=
  match xs, ys, rs with
  | [], [], [] => true
  | x :: xs', y :: ys', r :: rs' =>
      Nat.eqb (length x) (length y) && f x (minusI p x y) r && eachI f p xs' ys' rs'
  | _, _, _ => false
  end.
Fixpoint someI (f : list I.type -> list I.type -> bool) (p : F.precision) (xs ys : list (list I.type)) : bool :=
  match xs, ys with
  | x :: xs', y :: ys' => (Nat.eqb (length x) (length y) && f x (minusI p x y)) || someI f p xs' ys'
  | _, _ => false
  end.

Lemma length_encs : forall xs x, encs xs x -> length xs = length x.
Proof. intros xs x H. induction H; simpl; auto. Qed.

Lemma eachI_correct : forall f (P : vector -> vector -> R -> Prop) p,
  (forall xs x ds d ri r, encs xs x -> encs ds d -> enc ri r -> f xs ds ri = true -> P x d r) ->
  forall xs x, rows xs x -> forall ys y, rows ys y -> forall rs r, encs rs r ->
  eachI f p xs ys rs = true -> each (fun a b c => P a (minus a b) c) x y r.
Proof.
  intros f P p Hf xs x Hx. induction Hx; intros ys y0 Hy rs r Hr; inversion Hy; subst; inversion Hr; subst; simpl;
    intros Hc; try discriminate; auto.
  apply andb_prop in Hc. destruct Hc as [Hc H'']. apply andb_prop in Hc. destruct Hc as [Hc H'].
  apply Nat.eqb_eq in Hc. split; [|split].
  - rewrite <- (length_encs _ _ H), <- (length_encs _ _ H0). auto.
  - refine (Hf _ _ _ _ _ _ H _ _ H'); auto. apply enc_minus; auto.
  - eapply IHHx; eauto.
Qed.
Lemma someI_correct : forall f (P : vector -> vector -> Prop) p,
  (forall xs x ds d, encs xs x -> encs ds d -> f xs ds = true -> P x d) ->
  forall xs x, rows xs x -> forall ys y, rows ys y ->
  someI f p xs ys = true -> some (fun a b => P a (minus a b)) x y.
Proof.
  intros f P p Hf xs x Hx. induction Hx; intros ys y0 Hy; inversion Hy; subst; simpl; intros Hc; try discriminate.
  apply orb_prop in Hc. destruct Hc as [Hc|Hc]; [left|right].
  - apply andb_prop in Hc. destruct Hc as [Hl Hc]. apply Nat.eqb_eq in Hl. split.
    + rewrite <- (length_encs _ _ H), <- (length_encs _ _ H0). auto.
    + refine (Hf _ _ _ _ H _ Hc). apply enc_minus; auto.
  - eapply IHHx; eauto.
Qed.

Definition holdsI (p : F.precision) (n : norm) (xs ys : list (list I.type)) (b : bound) : bool :=
  match b with
  | at_most_each d rs => eachI (fun _ => at_mostI p n) p xs ys (vecI p d rs)
  | at_least_each d rs => eachI (fun _ => at_leastI p n) p xs ys (vecI p d rs)
  | at_least_somewhere a d => someI (fun _ ds => at_leastI p n ds (ratioI p a d)) p xs ys
  | at_most_times_each d rs => eachI (at_most_timesI p n) p xs ys (vecI p d rs)
  | at_least_times_somewhere a d => someI (fun x ds => at_least_timesI p n x ds (ratioI p a d)) p xs ys
  end.
Definition check (p : F.precision) (n : norm) (bs : list bound) (xs ys : list (list I.type)) : bool :=
  forallb (holdsI p n xs ys) bs.
Theorem check_sound : forall p n bs xs x ys y,
  rows xs x -> rows ys y -> check p n bs xs ys = true -> distances n x y bs.
Proof.
  intros p n bs xs x ys y Hx Hy. unfold check. induction bs as [|b bs IH]; simpl; auto. intros H.
  apply andb_prop in H. destruct H as [H Hr]. split; auto. destruct b as [d rs|d rs|a d|d rs|a d]; simpl in *.
  - refine (eachI_correct _ (fun _ d r => size n d <= r) p _ xs x Hx ys y Hy _ _ (enc_vec p d rs) H).
    intros. eapply at_mostI_correct; eauto.
  - refine (eachI_correct _ (fun _ d r => r <= size n d) p _ xs x Hx ys y Hy _ _ (enc_vec p d rs) H).
    intros. eapply at_leastI_correct; eauto.
  - refine (someI_correct _ (fun _ d0 => ratio a d <= size n d0) p _ xs x Hx ys y Hy H).
    intros. eapply at_leastI_correct; eauto. apply enc_ratio.
  - refine (eachI_correct _ (fun x d r => size n d <= r * size n x) p _ xs x Hx ys y Hy _ _ (enc_vec p d rs) H).
    intros. eapply at_most_timesI_correct; eauto.
  - refine (someI_correct _ (fun x d0 => 0 < size n x /\ ratio a d * size n x <= size n d0) p _ xs x Hx ys y Hy H).
    intros. eapply at_least_timesI_correct; eauto. apply enc_ratio.
Qed.
Definition precision (p : positive) : F.precision := F.PtoP p.
End Softmax.
