(** Intervals of the library coq-interval, over any of its floating-point formats, as enclosures of reals. *)
From Flocq Require Import Zaux Raux.
From Coq Require Import Reals ZArith List Bool Lra Lia.
From Interval Require Import Real.Xreal Float.Basic Float.Sig Float.Specific_ops Float.Specific_sig
  Interval.Interval Interval.Float Interval.Float_full.
From CertAttn Require Import Statements Integers.
Import ListNotations.
Open Scope R_scope.

Module Enclosures (C : FloatCarrier with Definition radix := Zaux.radix2).
Module F := SpecificFloat C.
Module I := FloatIntervalFull F.
#[global] Arguments I.add : simpl never.
#[global] Arguments I.sub : simpl never.
#[global] Arguments I.mul : simpl never.
#[global] Arguments I.div : simpl never.
#[global] Arguments I.exp : simpl never.
#[global] Arguments I.ln : simpl never.
#[global] Arguments I.sqrt : simpl never.
#[global] Arguments I.fromZ : simpl never.
#[global] Arguments I.zero : simpl never.

Definition enc (i : I.type) (r : R) : Prop := contains (I.convert i) (Xreal r).
#[global] Arguments enc : simpl never.
Definition encs : list I.type -> vector -> Prop := Forall2 enc.

Lemma enc_Z : forall p z, enc (I.fromZ p z) (IZR z).
Proof. intros. apply I.fromZ_correct. Qed.
Lemma enc_0 : enc I.zero 0.
Proof. unfold enc. rewrite I.zero_correct. simpl. lra. Qed.
Lemma enc_add : forall p i j x y, enc i x -> enc j y -> enc (I.add p i j) (x + y).
Proof. intros. exact (I.add_correct p i j (Xreal x) (Xreal y) H H0). Qed.
Lemma enc_sub : forall p i j x y, enc i x -> enc j y -> enc (I.sub p i j) (x - y).
Proof. intros. exact (I.sub_correct p i j (Xreal x) (Xreal y) H H0). Qed.
Lemma enc_mul : forall p i j x y, enc i x -> enc j y -> enc (I.mul p i j) (x * y).
Proof. intros. exact (I.mul_correct p i j (Xreal x) (Xreal y) H H0). Qed.
Lemma enc_div : forall p i j x y, y <> 0 -> enc i x -> enc j y -> enc (I.div p i j) (x / y).
Proof.
  intros p i j x y Hy Hi Hj.
  generalize (I.div_correct p i j (Xreal x) (Xreal y) Hi Hj).
  unfold Xdiv, Xbind2, Xdiv'. rewrite is_zero_false by auto. auto.
Qed.
Lemma enc_exp : forall p i x, enc i x -> enc (I.exp p i) (exp x).
Proof. intros. exact (I.exp_correct p i (Xreal x) H). Qed.
Lemma enc_ln : forall p i x, 0 < x -> enc i x -> enc (I.ln p i) (ln x).
Proof.
  intros p i x Hx H. generalize (I.ln_correct p i (Xreal x) H).
  unfold Xln, Xbind, Xln'. rewrite is_positive_true by auto. auto.
Qed.
Lemma enc_abs : forall i x, enc i x -> enc (I.abs i) (Rabs x).
Proof. intros i x H. exact (I.abs_correct i (Xreal x) H). Qed.
Lemma enc_sqrt : forall p i x, enc i x -> enc (I.sqrt p i) (sqrt x).
Proof. intros. exact (I.sqrt_correct p i (Xreal x) H). Qed.

Definition le0 (i : I.type) : bool := match I.sign_large i with Xlt | Xeq => true | _ => false end.
Lemma le0_correct : forall i x, enc i x -> le0 i = true -> x <= 0.
Proof.
  intros i x H. unfold le0. generalize (I.sign_large_correct i).
  destruct (I.sign_large i); try discriminate; intros Hs _.
  - specialize (Hs _ H). inversion Hs. lra.
  - exact (proj2 (Hs _ H)).
Qed.
Definition lt0 (i : I.type) : bool := match I.sign_strict i with Xlt => true | _ => false end.
Lemma lt0_correct : forall i x, enc i x -> lt0 i = true -> x < 0.
Proof.
  intros i x H. unfold lt0. generalize (I.sign_strict_correct i).
  destruct (I.sign_strict i); try discriminate. intros Hs _. exact (proj2 (Hs _ H)).
Qed.
Definition leI (p : F.precision) (i j : I.type) : bool := le0 (I.sub p i j).
Lemma leI_correct : forall p i j x y, enc i x -> enc j y -> leI p i j = true -> x <= y.
Proof. intros p i j x y Hi Hj H. pose proof (le0_correct _ _ (enc_sub p _ _ _ _ Hi Hj) H). lra. Qed.

Definition ltI (p : F.precision) (i j : I.type) : bool := lt0 (I.sub p i j).
Lemma ltI_correct : forall p i j x y, enc i x -> enc j y -> ltI p i j = true -> x < y.
Proof. intros p i j x y Hi Hj H. pose proof (lt0_correct _ _ (enc_sub p _ _ _ _ Hi Hj) H). lra. Qed.

(** * Rationals, and the exponential of one *)

Fixpoint log2_exact (d : positive) : option Z :=
  match d with
  | xH => Some 0%Z
  | xO d' => match log2_exact d' with Some k => Some (Z.succ k) | None => None end
  | xI _ => None
  end.
Lemma log2_exact_correct : forall d k, log2_exact d = Some k -> IZR (Zpos d) = bpow radix2 k.
Proof.
  induction d; simpl; intros k H; try discriminate.
  - destruct (log2_exact d) as [k'|]; try discriminate. injection H as <-.
    unfold Z.succ. rewrite bpow_plus_1, <- (IHd _ eq_refl).
    rewrite Pos2Z.inj_xO, mult_IZR. reflexivity.
  - injection H as <-. reflexivity.
Qed.

Definition ratioI (p : F.precision) (num : Z) (den : positive) : I.type :=
  match den with
  | xH => I.fromZ p num
  | _ => I.div p (I.fromZ p num) (I.fromZ p (Zpos den))
  end.
Lemma enc_ratio : forall p num den, enc (ratioI p num den) (ratio num den).
Proof.
  intros p num den.
  assert (H : enc (I.div p (I.fromZ p num) (I.fromZ p (Zpos den))) (ratio num den)).
  { apply enc_div; try apply enc_Z. apply den_neq_0. }
  unfold ratioI. destruct den; auto. rewrite ratio_1. apply enc_Z.
Qed.

(** exp(num/den): at one point if den is a power of two, for then num/den is a float; else of an interval. *)
Definition expI (p : F.precision) (num : Z) (den : positive) : I.type :=
  match log2_exact den with
  | Some k => I.T.exp_fast p (F.scale2 (F.fromZ num) (F.ZtoS (- k)))
  | None => I.exp p (I.div p (I.fromZ p num) (I.fromZ p (Zpos den)))
  end.
Lemma enc_expI : forall p num den, enc (expI p num den) (exp (ratio num den)).
Proof.
  intros p num den. unfold expI, ratio. destruct (log2_exact den) as [k|] eqn:Hk.
  - generalize (I.T.exp_fast_correct p (F.scale2 (F.fromZ num) (F.ZtoS (- k)))).
    rewrite F.scale2_correct by reflexivity. rewrite F.fromZ_correct'.
    unfold F.StoZ, F.ZtoS. rewrite C.ZtoE_correct, bpow_opp.
    rewrite <- (log2_exact_correct _ _ Hk). simpl. auto.
  - apply enc_exp, enc_div; try apply enc_Z. apply den_neq_0.
Qed.

(** * Vectors *)

Definition vecI (p : F.precision) (den : positive) (l : list Z) : list I.type := map (fun z => ratioI p z den) l.
Lemma enc_vec : forall p den l, encs (vecI p den l) (vec den l).
Proof. unfold vecI, vec. intros. induction l; simpl; constructor; auto. apply enc_ratio. Qed.

Fixpoint minusI (p : F.precision) (xs ys : list I.type) : list I.type :=
  match xs, ys with x :: xs', y :: ys' => I.sub p x y :: minusI p xs' ys' | _, _ => [] end.
Lemma enc_minus : forall p xs x, encs xs x -> forall ys y, encs ys y -> encs (minusI p xs ys) (minus x y).
Proof.
  intros p xs x H. induction H; intros ys y0 Hy; inversion Hy; subst; simpl; constructor.
  apply enc_sub; auto. apply IHForall2; auto.
Qed.

Fixpoint totalI (p : F.precision) (xs : list I.type) : I.type :=
  match xs with x :: xs' => I.add p x (totalI p xs') | [] => I.zero end.
Lemma enc_total : forall p xs x, encs xs x -> enc (totalI p xs) (total x).
Proof. intros p xs x H. induction H; simpl. apply enc_0. apply enc_add; auto. Qed.

(** sum of t_i z_i with integers z_i *)
Fixpoint dotI (p : F.precision) (ts : list I.type) (l : list Z) : I.type :=
  match ts, l with t :: ts', z :: l' => I.add p (I.mul p t (I.fromZ p z)) (dotI p ts' l') | _, _ => I.zero end.
Lemma enc_dot : forall p ts t, encs ts t -> forall l, enc (dotI p ts l) (dot t (map IZR l)).
Proof.
  intros p ts t H. induction H; intros [|z l0]; simpl; try apply enc_0.
  apply enc_add; auto. apply enc_mul; auto. apply enc_Z.
Qed.

(** * Norms *)

Definition negI (p : F.precision) (i : I.type) : I.type := I.sub p I.zero i.
Lemma enc_neg : forall p i x, enc i x -> enc (negI p i) (- x).
Proof. intros. replace (- x) with (0 - x) by ring. apply enc_sub; auto. apply enc_0. Qed.

Definition squaresI (p : F.precision) (xs : list I.type) : I.type := totalI p (map (fun x => I.mul p x x) xs).
Lemma enc_squares : forall p xs x, encs xs x -> enc (squaresI p xs) (squares x).
Proof.
  intros p xs x H. apply enc_total. induction H; simpl; constructor; auto. apply enc_mul; auto.
Qed.
Definition lengthI (p : F.precision) (xs : list I.type) : I.type := I.fromZ p (Z.of_nat (length xs)).
Lemma enc_length : forall p xs x, encs xs x -> enc (lengthI p xs) (INR (length x)).
Proof.
  intros p xs x H. unfold lengthI. replace (length xs) with (length x) by (induction H; simpl; auto).
  rewrite INR_IZR_INZ. apply enc_Z.
Qed.

Lemma squares_ge_0 : forall x, 0 <= squares x.
Proof. unfold squares. induction x as [|u x IH]; simpl. lra. pose proof (Rle_0_sqr u). unfold Rsqr in *. lra. Qed.
Lemma size_ge_0 : forall n x, 0 <= size n x.
Proof.
  intros [| |] x; simpl; try apply sqrt_pos. induction x; simpl. lra.
  apply Rle_trans with (1 := IHx). apply Rmax_r.
Qed.
Lemma sqrt_le_of_square : forall s r, 0 <= r -> s <= r * r -> sqrt s <= r.
Proof. intros s r Hr H. rewrite <- (sqrt_square r) by auto. now apply sqrt_le_1_alt. Qed.
Lemma le_sqrt_of_square : forall s r, 0 <= r -> r * r <= s -> r <= sqrt s.
Proof. intros s r Hr H. rewrite <- (sqrt_square r) by auto. now apply sqrt_le_1_alt. Qed.

Lemma div_le : forall a b c, 0 < b -> a <= c * b -> a / b <= c.
Proof. intros a b c Hb H. apply Rmult_le_reg_r with (1 := Hb). unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma le_div : forall a b c, 0 < b -> c * b <= a -> c <= a / b.
Proof. intros a b c Hb H. apply Rmult_le_reg_r with (1 := Hb). unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. Qed.

(** That an enclosure of a radius is not negative. *)
Lemma nonnegative : forall p ri r, enc ri r -> le0 (negI p ri) = true -> 0 <= r.
Proof. intros p ri r Hr H. pose proof (le0_correct _ _ (enc_neg p _ _ Hr) H). lra. Qed.

Definition at_mostI (p : F.precision) (n : norm) (xs : list I.type) (r : I.type) : bool :=
  le0 (negI p r) &&
  match n with
  | linf => forallb (fun x => leI p x r && leI p (negI p x) r) xs
  | l2 => leI p (squaresI p xs) (I.mul p r r)
  | rms => leI p (squaresI p xs) (I.mul p (I.mul p r r) (lengthI p xs))
  end.
Lemma at_mostI_correct : forall p n xs x ri r,
  encs xs x -> enc ri r -> at_mostI p n xs ri = true -> size n x <= r.
Proof.
  intros p n xs x ri r Hx Hr H. unfold at_mostI in H. apply andb_prop in H. destruct H as [H0 H].
  apply (nonnegative p ri r Hr) in H0. destruct n.
  - induction Hx; simpl in *; auto. apply andb_prop in H. destruct H as [Ha Hb].
    apply andb_prop in Ha. destruct Ha as [Ha Hc]. apply Rmax_lub; auto.
    pose proof (leI_correct _ _ _ _ _ H1 Hr Ha). pose proof (leI_correct _ _ _ _ _ (enc_neg p _ _ H1) Hr Hc).
    apply Rabs_le. lra.
  - apply sqrt_le_of_square; auto.
    exact (leI_correct _ _ _ _ _ (enc_squares p _ _ Hx) (enc_mul p _ _ _ _ Hr Hr) H).
  - apply sqrt_le_of_square; auto.
    pose proof (leI_correct _ _ _ _ _ (enc_squares p _ _ Hx)
      (enc_mul p _ _ _ _ (enc_mul p _ _ _ _ Hr Hr) (enc_length p _ _ Hx)) H) as Hs.
    destruct x as [|u x].
    + unfold squares, Rdiv. simpl. rewrite Rmult_0_l. now apply Rmult_le_pos.
    + apply div_le; auto. apply lt_0_INR. simpl. lia.
Qed.

Definition at_leastI (p : F.precision) (n : norm) (xs : list I.type) (r : I.type) : bool :=
  le0 r ||
  match n with
  | linf => existsb (fun x => leI p r x || leI p r (negI p x)) xs
  | l2 => le0 (negI p r) && leI p (I.mul p r r) (squaresI p xs)
  | rms => le0 (negI p r) && negb (Nat.eqb (length xs) 0) &&
      leI p (I.mul p (I.mul p r r) (lengthI p xs)) (squaresI p xs)
  end.
Lemma at_leastI_correct : forall p n xs x ri r,
  encs xs x -> enc ri r -> at_leastI p n xs ri = true -> r <= size n x.
Proof.
  intros p n xs x ri r Hx Hr H. unfold at_leastI in H. apply orb_prop in H. destruct H as [H|H].
  { apply Rle_trans with 0. apply (le0_correct _ _ Hr H). apply size_ge_0. }
  destruct n.
  - unfold size. induction Hx; simpl in *; try discriminate. apply orb_prop in H. destruct H as [H|H].
    + apply Rle_trans with (Rabs y). 2: apply Rmax_l. apply orb_prop in H. destruct H as [H|H].
      * apply Rle_trans with y. apply (leI_correct _ _ _ _ _ Hr H0 H). apply Rle_abs.
      * apply Rle_trans with (- y). apply (leI_correct _ _ _ _ _ Hr (enc_neg p _ _ H0) H).
        rewrite <- Rabs_Ropp. apply Rle_abs.
    + apply Rle_trans with (1 := IHHx H). apply Rmax_r.
  - apply andb_prop in H. destruct H as [H0 H]. apply le_sqrt_of_square.
    + exact (nonnegative p ri r Hr H0).
    + exact (leI_correct _ _ _ _ _ (enc_mul p _ _ _ _ Hr Hr) (enc_squares p _ _ Hx) H).
  - apply andb_prop in H. destruct H as [H0 H]. apply andb_prop in H0. destruct H0 as [H0 Hl].
    apply le_sqrt_of_square.
    + exact (nonnegative p ri r Hr H0).
    + apply le_div.
      * destruct Hx; try discriminate. apply lt_0_INR. simpl. lia.
      * exact (leI_correct _ _ _ _ _ (enc_mul p _ _ _ _ (enc_mul p _ _ _ _ Hr Hr) (enc_length p _ _ Hx))
          (enc_squares p _ _ Hx) H).
Qed.

(** ** In units of the size of another vector *)

Definition at_most_timesI (p : F.precision) (n : norm) (xs ds : list I.type) (r : I.type) : bool :=
  le0 (negI p r) &&
  match n with
  | linf => forallb (fun d => existsb (fun x => leI p (I.abs d) (I.mul p r (I.abs x))) xs) ds
  | l2 => leI p (squaresI p ds) (I.mul p (I.mul p r r) (squaresI p xs))
  | rms => false
  end.
Lemma at_most_timesI_correct : forall p n xs x ds d ri r,
  encs xs x -> encs ds d -> enc ri r -> at_most_timesI p n xs ds ri = true -> size n d <= r * size n x.
Proof.
  intros p n xs x ds d ri r Hx Hd Hr H. unfold at_most_timesI in H. apply andb_prop in H. destruct H as [H0 H].
  apply (nonnegative p ri r Hr) in H0. destruct n; try discriminate.
  - induction Hd; cbn [forallb] in H.
    + simpl. apply Rmult_le_pos; auto. apply (size_ge_0 linf).
    + apply andb_prop in H. destruct H as [H H']. apply Rmax_lub; auto. clear IHHd H'.
      induction Hx; simpl in H; try discriminate. apply orb_prop in H. destruct H as [H|H].
      * apply Rle_trans with (r * Rabs y0).
        { exact (leI_correct _ _ _ _ _ (enc_abs _ _ H1) (enc_mul p _ _ _ _ Hr (enc_abs _ _ H2)) H). }
        apply Rmult_le_compat_l; auto. apply Rmax_l.
      * apply Rle_trans with (1 := IHHx H). apply Rmult_le_compat_l; auto. apply Rmax_r.
  - pose proof (leI_correct _ _ _ _ _ (enc_squares p _ _ Hd)
      (enc_mul p _ _ _ _ (enc_mul p _ _ _ _ Hr Hr) (enc_squares p _ _ Hx)) H) as Hs.
    simpl. rewrite <- (sqrt_square r) at 1 by auto. rewrite <- sqrt_mult_alt by nra. now apply sqrt_le_1_alt.
Qed.

Definition at_least_timesI (p : F.precision) (n : norm) (xs ds : list I.type) (r : I.type) : bool :=
  match n with
  | l2 => le0 (negI p r) && ltI p I.zero (squaresI p xs) &&
      leI p (I.mul p (I.mul p r r) (squaresI p xs)) (squaresI p ds)
  | _ => false
  end.
Lemma at_least_timesI_correct : forall p n xs x ds d ri r,
  encs xs x -> encs ds d -> enc ri r -> at_least_timesI p n xs ds ri = true ->
  0 < size n x /\ r * size n x <= size n d.
Proof.
  intros p n xs x ds d ri r Hx Hd Hr H. destruct n; try discriminate. unfold at_least_timesI in H.
  apply andb_prop in H. destruct H as [H0 H]. apply andb_prop in H0. destruct H0 as [H0 Hp].
  apply (nonnegative p ri r Hr) in H0. split.
  - apply sqrt_lt_R0. exact (ltI_correct _ _ _ _ _ enc_0 (enc_squares p _ _ Hx) Hp).
  - pose proof (leI_correct _ _ _ _ _ (enc_mul p _ _ _ _ (enc_mul p _ _ _ _ Hr Hr) (enc_squares p _ _ Hx))
      (enc_squares p _ _ Hd) H) as Hs.
    simpl. rewrite <- (sqrt_square r) at 1 by auto. rewrite <- sqrt_mult_alt by nra. now apply sqrt_le_1_alt.
Qed.
End Enclosures.
