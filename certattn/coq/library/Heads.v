(** Attention of queries that see a part of the tokens, head by head, and the errors of an output beside it: enclosed by
    intervals, as in [Softmax]. *)
From Coq Require Import Reals ZArith List Bool Lra Lia.
From Interval Require Import Float.Sig Float.Specific_sig Interval.Interval.
From CertAttn Require Import Statements Integers Enclosures Softmax.
Import ListNotations.
Open Scope R_scope.

Lemma between_mat : forall a b d M, between a b (mat d M) = mat d (between a b M).
Proof. intros. unfold between, mat. now rewrite firstn_map, skipn_map. Qed.
Lemma shared_map : forall (A B : Type) n (g : A -> B) l, shared_by n (map g l) = map g (shared_by n l).
Proof.
  intros A B n g l. unfold shared_by. induction l as [|x l IH]; simpl; auto. rewrite map_app, IH. f_equal.
  clear. induction n as [|n IH]; simpl; auto. now rewrite IH.
Qed.

Definition sightedZ (n : nat) (first stop : list nat) : bool :=
  Nat.eqb (length first) (length stop) &&
  forallb (fun ab => Nat.ltb (fst ab) (snd ab) && Nat.leb (snd ab) n) (combine first stop).
Lemma sighted_correct : forall n first stop, sightedZ n first stop = true -> sighted n first stop.
Proof.
  unfold sightedZ, sighted. intros n first. induction first as [|a first IH]; intros [|b stop] H; try discriminate;
    constructor; simpl in H; apply andb_prop in H; destruct H as [Hl H]; apply andb_prop in H; destruct H as [H H'].
  - apply andb_prop in H. destruct H as [Ha Hb]. apply Nat.ltb_lt in Ha. apply Nat.leb_le in Hb. lia.
  - apply IH. now rewrite Hl, H'.
Qed.
(** Of several heads. *)
Definition all_sightedZ (n : nat) (first stop : list (list nat)) : bool :=
  Nat.eqb (length first) (length stop) && forallb (fun ab => sightedZ n (fst ab) (snd ab)) (combine first stop).
Lemma all_sighted_correct : forall n first stop, all_sightedZ n first stop = true -> Forall2 (sighted n) first stop.
Proof.
  unfold all_sightedZ. intros n first. induction first as [|a first IH]; intros [|b stop] H; try discriminate;
    constructor; simpl in H; apply andb_prop in H; destruct H as [Hl H]; apply andb_prop in H; destruct H as [H H'].
  - now apply sighted_correct.
  - apply IH. now rewrite Hl, H'.
Qed.

Definition shapedI {A : Type} (rows columns : nat) (M : list (list A)) : bool :=
  Nat.eqb (length M) rows && forallb (fun row => Nat.eqb (length row) columns) M.
Definition stackedI {A : Type} (count rows columns : nat) (Ms : list (list (list A))) : bool :=
  Nat.eqb (length Ms) count && forallb (shapedI rows columns) Ms.

(** Lists whose shapes agree, entry by entry under some relation. *)
Section Shapes.
Variables (A : Type) (r : A -> R -> Prop).
Lemma forall2_length : forall (B C : Type) (P : B -> C -> Prop) x y, Forall2 P x y -> length x = length y.
Proof. intros B C P x y H. induction H; simpl; auto. Qed.
Lemma shaped_correct : forall rows columns Ms M,
  Forall2 (Forall2 r) Ms M -> shapedI rows columns Ms = true -> shaped rows columns M.
Proof.
  unfold shapedI, shaped. intros rows columns Ms M H Hs. apply andb_prop in Hs. destruct Hs as [Hl Hs].
  apply Nat.eqb_eq in Hl. split. { rewrite <- Hl. symmetry. exact (forall2_length _ _ _ _ _ H). } clear Hl.
  induction H; constructor; simpl in Hs; apply andb_prop in Hs; destruct Hs as [H1 H2]; auto.
  apply Nat.eqb_eq in H1. rewrite <- H1. symmetry. exact (forall2_length _ _ _ _ _ H).
Qed.
Lemma stacked_correct : forall count rows columns Ms M,
  Forall2 (Forall2 (Forall2 r)) Ms M -> stackedI count rows columns Ms = true -> stacked count rows columns M.
Proof.
  unfold stackedI, stacked. intros count rows columns Ms M H Hs. apply andb_prop in Hs. destruct Hs as [Hl Hs].
  apply Nat.eqb_eq in Hl. split. { rewrite <- Hl. symmetry. exact (forall2_length _ _ _ _ _ H). } clear Hl.
  induction H; constructor; simpl in Hs; apply andb_prop in Hs; destruct Hs as [H1 H2]; auto.
  eapply shaped_correct; eauto.
Qed.
Lemma concat_correct : forall (P : A -> R -> Prop) Ms M,
  Forall2 (Forall2 P) Ms M -> Forall2 P (concat Ms) (concat M).
Proof. intros P Ms M H. induction H; simpl; auto. now apply Forall2_app. Qed.
End Shapes.
Lemma stacked_mats : forall count rows columns d Ms, stackedI count rows columns Ms = true ->
  stacked count rows columns (map (mat d) Ms).
Proof.
  intros count rows columns d Ms. apply (stacked_correct Z (fun z x => x = IZR z / IZR (Zpos d))).
  unfold mat, vec. induction Ms as [|M Ms IH]; simpl; constructor; auto. clear.
  induction M as [|row M IH]; simpl; constructor; auto. clear. induction row; simpl; constructor; auto.
Qed.

Lemma power_of_pos : forall n, IZR (Zpos (2 ^ n)) = 2 ^ Pos.to_nat n.
Proof.
  intros n. rewrite Pos2Z.inj_pow, <- (positive_nat_Z n). symmetry. apply pow_IZR.
Qed.

Module Heads (C : FloatCarrier with Definition radix := Zaux.radix2).
Include Softmax C.
Import E.

(** * Queries that see a part of the tokens *)

Section Seen.
Variables (fI : list (list Z) -> list (list Z) -> list Z -> list I.type) (f : matrix -> matrix -> vector -> vector).
Variables (ok : list (list Z) -> list (list Z) -> bool) (dk dv dq : positive).
Hypothesis f_correct : forall K V q, ok K V = true -> encs (fI K V q) (f (mat dk K) (mat dv V) (vec dq q)).

Fixpoint seen_rows (K V : list (list Z)) (first stop : list nat) (Q : list (list Z)) : list (list I.type) :=
  match first, stop, Q with
  | a :: first', b :: stop', q :: Q' => fI (between a b K) (between a b V) q :: seen_rows K V first' stop' Q'
  | _, _, _ => []
  end.
Fixpoint seen_ok (K V : list (list Z)) (first stop : list nat) : bool :=
  match first, stop with
  | a :: first', b :: stop' => ok (between a b K) (between a b V) && seen_ok K V first' stop'
  | _, _ => true
  end.
Lemma seen_correct : forall K V first stop Q, seen_ok K V first stop = true ->
  rows (seen_rows K V first stop Q) (at_queries f (mat dk K) (mat dv V) first stop (mat dq Q)).
Proof.
  intros K V first. induction first as [|a first IH]; intros [|b stop] [|q Q] H; simpl; try constructor;
    simpl in H; apply andb_prop in H; destruct H as [H H'].
  - rewrite !between_mat. now apply f_correct.
  - now apply IH.
Qed.

Fixpoint heads_rows (Ks Vs : list (list (list Z))) (first stop : list (list nat)) (Qs : list (list (list Z)))
    : list (list (list I.type)) :=
  match Ks, Vs, first, stop, Qs with
  | K :: Ks', V :: Vs', a :: first', b :: stop', Q :: Qs' =>
      seen_rows K V a b Q :: heads_rows Ks' Vs' first' stop' Qs'
  | _, _, _, _, _ => []
  end.
Fixpoint heads_ok (Ks Vs : list (list (list Z))) (first stop : list (list nat)) : bool :=
  match Ks, Vs, first, stop with
  | K :: Ks', V :: Vs', a :: first', b :: stop' => seen_ok K V a b && heads_ok Ks' Vs' first' stop'
  | _, _, _, _ => true
  end.
Lemma heads_correct : forall Ks Vs first stop Qs, heads_ok Ks Vs first stop = true ->
  Forall2 rows (heads_rows Ks Vs first stop Qs)
    (at_heads f (map (mat dk) Ks) (map (mat dv) Vs) first stop (map (mat dq) Qs)).
Proof.
  induction Ks as [|K Ks IH]; intros [|V Vs] [|a first] [|b stop] [|Q Qs] H; simpl; try constructor;
    simpl in H; apply andb_prop in H; destruct H as [H H'].
  - now apply seen_correct.
  - now apply IH.
Qed.
End Seen.

(** What they are asked for: attention, the limit by the moments of what they see, the logarithm of the normaliser. *)

Definition any (K V : list (list Z)) : bool := prompt_ok K.
Definition attention_seen p pe s dk dv dq K V q : list I.type := attentionI p pe s 1 (unit K) dk K dq dv V q.
Lemma enc_attention_seen : forall p pe s dk dv dq K V q, any K V = true ->
  encs (attention_seen p pe s dk dv dq K V q) (attention s (mat dk K) (mat dv V) (vec dq q)).
Proof.
  intros p pe s dk dv dq K V q H. unfold attention. rewrite ones_mat. apply enc_attention. now apply valid_unit.
Qed.

Definition paired (K V : list (list Z)) : bool := prompt_ok K && Nat.eqb (length V) (length K).
Definition empirical_seen p s dk dv dq K V q : list I.type := empiricalI p (factorI p s) dk K dv V dq q.
Lemma enc_empirical_seen : forall p s dk dv dq K V q, paired K V = true ->
  encs (empirical_seen p s dk dv dq K V q) (empirical_limit s (mat dk K) (mat dv V) (vec dq q)).
Proof.
  intros p s dk dv dq K V q H. pose proof (empirical_rows_correct p s dk K dv V dq [q] H) as Hr.
  simpl in Hr. now inversion Hr.
Qed.

Definition log_seen p pe s dk dq K (V : list (list Z)) q : list I.type := logI p pe s 1 (unit K) dk K dq q.
Lemma enc_log_seen : forall p pe s dk dv dq K V q, any K V = true ->
  encs (log_seen p pe s dk dq K V q)
    ((fun keys (_ : matrix) => log_normaliser s keys) (mat dk K) (mat dv V) (vec dq q)).
Proof.
  intros p pe s dk dv dq K V q H. unfold log_normaliser. rewrite ones_mat. apply enc_log. now apply valid_unit.
Qed.
Definition log2_seen p pe s dk dq K V q : list I.type :=
  map (fun i => I.div p i (I.ln p (I.fromZ p 2))) (log_seen p pe s dk dq K V q).
Lemma enc_log2_seen : forall p pe s dk dv dq K V q, any K V = true ->
  encs (log2_seen p pe s dk dq K V q)
    ((fun keys (_ : matrix) => log2_normaliser s keys) (mat dk K) (mat dv V) (vec dq q)).
Proof.
  intros p pe s dk dv dq K V q H. pose proof (enc_log_seen p pe s dk dv dq K V q H) as Hl. cbv beta in *.
  unfold log2_normaliser, log2_seen. induction Hl; simpl; constructor; auto. apply enc_div; auto.
  - pose proof (ln_lt_2). lra.
  - apply enc_ln. lra. apply enc_Z.
Qed.

(** * Errors *)

Definition stated_heads (p : F.precision) (d : positive) (Ms : list (list (list Z))) : list (list (list I.type)) :=
  map (stated_rows p d) Ms.
Lemma stated_heads_correct : forall p d Ms, Forall2 rows (stated_heads p d Ms) (map (mat d) Ms).
Proof. intros. induction Ms; simpl; constructor; auto. apply stated_rows_correct. Qed.

Lemma by_head_correct : forall Ts T, Forall2 rows Ts T -> rows (map (@concat I.type) Ts) (map (@concat R) T).
Proof. intros Ts T H. induction H; simpl; constructor; auto. now apply concat_correct. Qed.
Lemma by_row_correct : forall Ts T, Forall2 rows Ts T -> rows (concat Ts) (concat T).
Proof. intros Ts T H. induction H; simpl; auto. constructor. now apply Forall2_app. Qed.
Definition entriesI (Ts : list (list (list I.type))) : list I.type := concat (concat Ts).
Lemma entries_correct : forall Ts T, Forall2 rows Ts T -> encs (entriesI Ts) (entries T).
Proof. intros. apply concat_correct. now apply by_row_correct. Qed.

(** ** Units in the last place *)

Definition powerI (p : F.precision) (e : Z) : I.type :=
  match e with Zneg n => ratioI p 1 (2 ^ n) | _ => I.fromZ p (2 ^ e) end.
Lemma enc_power : forall p e, enc (powerI p e) (powerRZ 2 e).
Proof.
  intros p [|n|n]; unfold powerI.
  - apply enc_Z.
  - replace (powerRZ 2 (Zpos n)) with (IZR (2 ^ Zpos n)). apply enc_Z.
    rewrite <- Pos2Z.inj_pow. apply power_of_pos.
  - replace (powerRZ 2 (Zneg n)) with (ratio 1 (2 ^ n)). apply enc_ratio.
    unfold ratio, Rdiv. rewrite Rmult_1_l, power_of_pos. reflexivity.
Qed.

(** [e] is a hint: where it is not the exponent, this is false. *)
Definition has_unitI (p : F.precision) (bits least : Z) (t : I.type) (e : Z) : bool :=
  ltI p (I.abs t) (powerI p (e + bits)) &&
  (Z.eqb e (least - bits + 1) || (Z.ltb (least - bits + 1) e && leI p (powerI p (e + bits - 1)) (I.abs t))).
Lemma has_unit_correct : forall p bits least t x e, enc t x -> has_unitI p bits least t e = true ->
  has_unit bits least x e.
Proof.
  intros p bits least t x e Ht H. unfold has_unitI in H. apply andb_prop in H. destruct H as [H1 H2]. split.
  - exact (ltI_correct _ _ _ _ _ (enc_abs _ _ Ht) (enc_power p _) H1).
  - apply orb_prop in H2. destruct H2 as [H2|H2].
    + left. now apply Z.eqb_eq.
    + right. apply andb_prop in H2. destruct H2 as [H2 H3]. split. now apply Z.ltb_lt.
      exact (leI_correct _ _ _ _ _ (enc_power p _) (enc_abs _ _ Ht) H3).
Qed.

Definition ulps_leI p bits least r t u e : bool :=
  has_unitI p bits least t e && leI p (I.abs (I.sub p t u)) (I.mul p r (powerI p e)).
Definition ulps_geI p bits least r t u e : bool :=
  has_unitI p bits least t e && leI p (I.mul p r (powerI p e)) (I.abs (I.sub p t u)).
Fixpoint all_unitsI (f : I.type -> I.type -> Z -> bool) (ts us : list I.type) (es : list Z) : bool :=
  match ts, us, es with
  | t :: ts', u :: us', e :: es' => f t u e && all_unitsI f ts' us' es'
  | [], [], _ => true
  | _, _, _ => false
  end.
Fixpoint some_unitI (f : I.type -> I.type -> Z -> bool) (ts us : list I.type) (es : list Z) : bool :=
  match ts, us, es with
  | t :: ts', u :: us', e :: es' => f t u e || some_unitI f ts' us' es'
  | _, _, _ => false
  end.
Section Units.
Variables (f : I.type -> I.type -> Z -> bool) (P : R -> R -> Z -> Prop).
Hypothesis f_correct : forall t x u y e, enc t x -> enc u y -> f t u e = true -> P x y e.
Lemma all_units_correct : forall ts x, encs ts x -> forall us y, encs us y -> forall es, all_unitsI f ts us es = true ->
  Forall (fun tu => exists e, P (fst tu) (snd tu) e) (combine x y).
Proof.
  intros ts x Hx. induction Hx; intros us y0 Hy es H0; inversion Hy; subst; simpl in *; constructor.
  - destruct es as [|e es]; try discriminate. apply andb_prop in H0. exists e. eapply f_correct; eauto. apply H0.
  - destruct es as [|e es]; try discriminate. apply andb_prop in H0. eapply IHHx; eauto. apply H0.
Qed.
Lemma some_unit_correct : forall ts x, encs ts x -> forall us y, encs us y -> forall es, some_unitI f ts us es = true ->
  Exists (fun tu => exists e, P (fst tu) (snd tu) e) (combine x y).
Proof.
  intros ts x Hx. induction Hx; intros us y0 Hy es H0; inversion Hy; subst; simpl in *; try discriminate.
  destruct es as [|e es]; try discriminate. apply orb_prop in H0. destruct H0 as [H0|H0].
  - apply Exists_cons_hd. exists e. eapply f_correct; eauto.
  - apply Exists_cons_tl. eapply IHHx; eauto.
Qed.
End Units.

(** ** How many *)

Definition beyond_mostI (p : F.precision) (r : I.type) (ds : list I.type) : Z :=
  fold_right (fun d n => if leI p (I.abs d) r then n else Z.succ n) 0%Z ds.
Definition beyond_leastI (p : F.precision) (r : I.type) (ds : list I.type) : Z :=
  fold_right (fun d n => if ltI p r (I.abs d) then Z.succ n else n) 0%Z ds.
Lemma beyond_correct : forall p ri r ds d, enc ri r -> encs ds d ->
  (beyond_leastI p ri ds <= beyond r d <= beyond_mostI p ri ds)%Z.
Proof.
  intros p ri r ds d Hr H. induction H; simpl. lia.
  destruct (Rlt_dec r (Rabs y)) as [Hy|Hy].
  - destruct (leI p (I.abs x) ri) eqn:Hm.
    + pose proof (leI_correct _ _ _ _ _ (enc_abs _ _ H) Hr Hm). lra.
    + destruct (ltI p ri (I.abs x)); lia.
  - destruct (ltI p ri (I.abs x)) eqn:Hl.
    + pose proof (ltI_correct _ _ _ _ _ Hr (enc_abs _ _ H) Hl). lra.
    + destruct (leI p (I.abs x) ri); lia.
Qed.

(** ** The check *)

Definition assertedI (p : F.precision) (exponents : list Z) (Ts Os : list (list (list I.type)))
    (a : assertion) : bool :=
  match a with
  | by_head n bs => check p n bs (map (@concat I.type) Ts) (map (@concat I.type) Os)
  | by_row n bs => check p n bs (concat Ts) (concat Os)
  | ulps_at_most b l a d => all_unitsI (ulps_leI p b l (ratioI p a d)) (entriesI Ts) (entriesI Os) exponents
  | ulps_at_least b l a d => some_unitI (ulps_geI p b l (ratioI p a d)) (entriesI Ts) (entriesI Os) exponents
  | beyond_at_most a d count => Z.leb (beyond_mostI p (ratioI p a d) (minusI p (entriesI Ts) (entriesI Os))) count
  | beyond_at_least a d count => Z.leb count (beyond_leastI p (ratioI p a d) (minusI p (entriesI Ts) (entriesI Os)))
  end.
Lemma asserted_correct : forall p exponents Ts T Os O a, Forall2 rows Ts T -> Forall2 rows Os O ->
  assertedI p exponents Ts Os a = true -> asserted T O a.
Proof.
  intros p exponents Ts T Os O a HT HO H.
  pose proof (entries_correct _ _ HT) as Ht. pose proof (entries_correct _ _ HO) as Ho.
  destruct a as [n bs|n bs|b l a d|b l a d|a d count|a d count]; simpl in *.
  - exact (check_sound p n bs _ _ _ _ (by_head_correct _ _ HT) (by_head_correct _ _ HO) H).
  - exact (check_sound p n bs _ _ _ _ (by_row_correct _ _ HT) (by_row_correct _ _ HO) H).
  - refine (all_units_correct _ (fun x y e => has_unit b l x e /\ Rabs (x - y) <= ratio a d * powerRZ 2 e) _
      _ _ Ht _ _ Ho _ H).
    intros t x u y e Hx Hy Hc. apply andb_prop in Hc. split.
    + apply (has_unit_correct p b l t x e Hx). apply Hc.
    + refine (leI_correct _ _ _ _ _ (enc_abs _ _ (enc_sub p _ _ _ _ Hx Hy)) (enc_mul p _ _ _ _ _ (enc_power p e)) _).
      apply enc_ratio. apply Hc.
  - refine (some_unit_correct _ (fun x y e => has_unit b l x e /\ ratio a d * powerRZ 2 e <= Rabs (x - y)) _
      _ _ Ht _ _ Ho _ H).
    intros t x u y e Hx Hy Hc. apply andb_prop in Hc. split.
    + apply (has_unit_correct p b l t x e Hx). apply Hc.
    + refine (leI_correct _ _ _ _ _ (enc_mul p _ _ _ _ _ (enc_power p e)) (enc_abs _ _ (enc_sub p _ _ _ _ Hx Hy)) _).
      apply enc_ratio. apply Hc.
  - apply Z.leb_le in H. pose proof (beyond_correct p _ _ _ _ (enc_ratio p a d) (enc_minus p _ _ Ht _ _ Ho)). lia.
  - apply Z.leb_le in H. pose proof (beyond_correct p _ _ _ _ (enc_ratio p a d) (enc_minus p _ _ Ht _ _ Ho)). lia.
Qed.

Definition errorsI (p : F.precision) (exponents : list Z) (count m n : nat) (all : list assertion)
    (Ts Os : list (list (list I.type))) : bool :=
  stackedI count m n Ts && stackedI count m n Os && forallb (assertedI p exponents Ts Os) all.
Theorem errors_sound : forall p exponents count m n all Ts T Os O, Forall2 rows Ts T -> Forall2 rows Os O ->
  errorsI p exponents count m n all Ts Os = true -> errors count m n T O all.
Proof.
  intros p exponents count m n all Ts T Os O HT HO H. unfold errorsI in H.
  apply andb_prop in H. destruct H as [H Ha]. apply andb_prop in H. destruct H as [HsT HsO].
  split; [|split].
  - exact (stacked_correct _ _ _ _ _ _ _ HT HsT).
  - exact (stacked_correct _ _ _ _ _ _ _ HO HsO).
  - rewrite forallb_forall in Ha. apply Forall_forall. intros a Hin.
    exact (asserted_correct p exponents Ts T Os O a HT HO (Ha a Hin)).
Qed.
End Heads.
