(** Attention under rules that change scores, enclosed by intervals: soft caps, slopes, sinks and masks. *)
From Coq Require Import Reals ZArith List Bool Lra Lia.
From Interval Require Import Float.Sig Float.Specific_sig Interval.Interval.
From CertAttn Require Import Statements Integers Enclosures Softmax Heads Spectrum.
Import ListNotations.
Open Scope R_scope.

Lemma tanh_exp : forall x, tanh x = 1 - 2 / (exp (2 * x) + 1).
Proof.
  intros x. unfold tanh, sinh, cosh. replace (2 * x) with (x + x) by ring. rewrite exp_plus, exp_Ropp.
  pose proof (exp_pos x). field. split; nra.
Qed.

Lemma ruled_total_ge_0 : forall c s slope r marks K j q, 0 <= total (ruled_tilts c s slope j r marks K q).
Proof.
  intros c s slope r. induction marks as [|m marks IH]; intros [|k K] j q; simpl; try lra.
  specialize (IH K (j + 1)%Z q). destruct (Z.eqb m 0); try lra.
  pose proof (exp_pos (cap_score c (s * dot k q) - slope * IZR (Z.abs (r - j)))). lra.
Qed.
Lemma ruled_total_gt_0 : forall c s slope r marks K j q, length marks = length K -> hides_all marks = false ->
  0 < total (ruled_tilts c s slope j r marks K q).
Proof.
  intros c s slope r. induction marks as [|m marks IH]; intros [|k K] j q Hl Hh; try discriminate.
  pose proof (ruled_total_ge_0 c s slope r marks K (j + 1) q) as H0. cbn [ruled_tilts total].
  unfold hides_all in Hh. cbn [forallb] in Hh. rewrite Z.eqb_sym in Hh. destruct (Z.eqb m 0).
  - rewrite Rplus_0_l. apply IH; auto.
  - pose proof (exp_pos (cap_score c (s * dot k q) - slope * IZR (Z.abs (r - j)))). lra.
Qed.

Module Rules (C : FloatCarrier with Definition radix := Zaux.radix2).
Include Spectrum C.
Import E.

Definition tanhI (p : F.precision) (x : I.type) : I.type :=
  I.sub p (I.fromZ p 1) (I.div p (I.fromZ p 2) (I.add p (I.exp p (I.mul p (I.fromZ p 2) x)) (I.fromZ p 1))).
Lemma enc_tanh : forall p i x, enc i x -> enc (tanhI p i) (tanh x).
Proof.
  intros p i x H. rewrite tanh_exp. apply enc_sub. apply enc_Z. apply enc_div.
  - pose proof (exp_pos (2 * x)). lra.
  - apply enc_Z.
  - apply enc_add; [|apply enc_Z]. apply enc_exp, enc_mul; auto. apply enc_Z.
Qed.

Definition cap_ok (c : cap) : bool := match c with uncapped => true | capped a _ => Z.ltb 0 a end.
Definition capI (p : F.precision) (c : cap) (x : I.type) : I.type :=
  match c with
  | uncapped => x
  | capped a d => let size := ratioI p a d in I.mul p size (tanhI p (I.div p x size))
  end.
Lemma enc_cap : forall p c i x, cap_ok c = true -> enc i x -> enc (capI p c i) (cap_score c x).
Proof.
  intros p [|a d] i x Hc H; simpl; auto. apply enc_mul. apply enc_ratio. apply enc_tanh, enc_div; auto.
  - apply Z.ltb_lt in Hc. unfold ratio. apply Rgt_not_eq, Rdiv_lt_0_compat. now apply IZR_lt. apply den_gt_0.
  - apply enc_ratio.
Qed.

Definition sinkI (p : F.precision) (z : sink) : I.type :=
  match z with no_sink => I.zero | sink_of d a => I.exp p (ratioI p a d) end.
Lemma enc_sink : forall p z, enc (sinkI p z) (sink_weight z).
Proof. intros p [|d a]; simpl. apply enc_0. apply enc_exp, enc_ratio. Qed.
Lemma sink_ge_0 : forall z, 0 <= sink_weight z.
Proof. intros [|d a]; simpl. lra. apply Rlt_le, exp_pos. Qed.

Fixpoint ruledI (p : F.precision) (c : cap) (root slope : I.type) (j r : Z) (marks : list Z) (d : positive)
    (K : list (list Z)) (q : list Z) : list I.type :=
  match marks, K with
  | m :: marks', k :: K' =>
      (if Z.eqb m 0 then I.zero
       else I.exp p (I.sub p (capI p c (I.mul p root (ratioI p (dotZ k q) d)))
         (I.mul p slope (I.fromZ p (Z.abs (r - j))))))
      :: ruledI p c root slope (j + 1) r marks' d K' q
  | _, _ => []
  end.
Lemma enc_ruled : forall p c s ai a r dk dq q, cap_ok c = true -> enc ai a -> forall marks K j,
  encs (ruledI p c (factorI p s) ai j r marks (dk * dq) K q)
    (ruled_tilts c (factor s) a j r marks (mat dk K) (vec dq q)).
Proof.
  intros p c s ai a r dk dq q Hc Ha. induction marks as [|m marks IH]; intros [|k K] j; simpl; try constructor.
  - destruct (Z.eqb m 0). apply enc_0. apply enc_exp, enc_sub.
    + apply enc_cap; auto. rewrite dot_vec. apply enc_mul. apply enc_factor. apply enc_ratio.
    + apply enc_mul; auto. apply enc_Z.
  - apply IH.
Qed.

Section Query.
Variables (p pe : F.precision) (c : cap) (s : scale) (dk dv dq : positive).

Definition marked (marks : list Z) (K : list (list Z)) : bool := cap_ok c && Nat.eqb (length marks) (length K).
Definition ruled_attentionI (slope : I.type) (z : sink) (r : Z) (marks : list Z) (K V : list (list Z)) (q : list Z)
    : list I.type :=
  if hides_all marks then map (fun _ => I.zero) (seq 0 (length (hd [] V)))
  else
    let T := ruledI pe c (factorI pe s) slope 0 r marks (dk * dq) K q in
    let S := I.add p (totalI p T) (sinkI pe z) in
    map (fun a => I.div p (I.div p (dotI p T (columnZ a V)) S) (I.fromZ p (Zpos dv))) (seq 0 (length (hd [] V))).
Lemma enc_ruled_attention : forall ai a z r marks K V q, enc ai a -> marked marks K = true ->
  encs (ruled_attentionI ai z r marks K V q) (ruled_attention c s a z r marks (mat dk K) (mat dv V) (vec dq q)).
Proof.
  intros ai a z r marks K V q Ha H. unfold marked in H. apply andb_prop in H. destruct H as [Hc Hl].
  apply Nat.eqb_eq in Hl. unfold ruled_attention, ruled_attentionI. rewrite columns_mat.
  destruct (hides_all marks) eqn:Hh.
  - induction (seq 0 (length (hd [] V))); simpl; constructor; auto. apply enc_0.
  - pose proof (enc_ruled pe c s ai a r dk dq q Hc Ha marks K 0) as HT.
    assert (Hp : 0 < total (ruled_tilts c (factor s) a 0 r marks (mat dk K) (vec dq q))).
    { apply ruled_total_gt_0; auto. unfold mat. now rewrite map_length. }
    pose proof (sink_ge_0 z) as Hz.
    induction (seq 0 (length (hd [] V))) as [|b l IH]; simpl; constructor; auto.
    rewrite column_mat, dot_vec_r.
    match goal with |- enc _ (?x / ?d / ?t) => replace (x / d / t) with (x / t / d) end.
    2: { field. split; try apply den_neq_0. lra. }
    apply enc_div. apply den_neq_0. 2: apply enc_Z. apply enc_div. lra. now apply enc_dot.
    apply enc_add. now apply enc_total. apply enc_sink.
Qed.

(** The normaliser is not 0. *)
Definition weighed (z : sink) (marks : list Z) (K : list (list Z)) : bool :=
  marked marks K && (negb (hides_all marks) || match z with no_sink => false | _ => true end).
Definition ruled_logI (slope : I.type) (z : sink) (r : Z) (marks : list Z) (K V : list (list Z)) (q : list Z)
    : list I.type :=
  [I.ln p (I.add p (totalI p (ruledI pe c (factorI pe s) slope 0 r marks (dk * dq) K q)) (sinkI pe z))].
Lemma enc_ruled_log : forall ai a z r marks K V q, enc ai a -> weighed z marks K = true ->
  encs (ruled_logI ai z r marks K V q) (ruled_log c s a z r marks (mat dk K) (mat dv V) (vec dq q)).
Proof.
  intros ai a z r marks K V q Ha H. unfold weighed, marked in H. apply andb_prop in H. destruct H as [H Hw].
  apply andb_prop in H. destruct H as [Hc Hl]. apply Nat.eqb_eq in Hl. constructor; [|constructor].
  pose proof (enc_ruled pe c s ai a r dk dq q Hc Ha marks K 0) as HT. apply enc_ln.
  - apply orb_prop in Hw. destruct Hw as [Hw|Hw].
    + apply negb_true_iff in Hw. pose proof (sink_ge_0 z).
      assert (0 < total (ruled_tilts c (factor s) a 0 r marks (mat dk K) (vec dq q))).
      { apply ruled_total_gt_0; auto. unfold mat. now rewrite map_length. }
      lra.
    + destruct z as [|d b]; try discriminate. simpl. pose proof (exp_pos (ratio b d)).
      pose proof (ruled_total_ge_0 c (factor s) a r marks (mat dk K) 0 (vec dq q)). lra.
  - apply enc_add. now apply enc_total. apply enc_sink.
Qed.
Definition ruled_log2I (slope : I.type) (z : sink) (r : Z) (marks : list Z) (K V : list (list Z)) (q : list Z)
    : list I.type :=
  map (fun i => I.div p i (I.ln p (I.fromZ p 2))) (ruled_logI slope z r marks K V q).
Lemma enc_ruled_log2 : forall ai a z r marks K V q, enc ai a -> weighed z marks K = true ->
  encs (ruled_log2I ai z r marks K V q) (ruled_log2 c s a z r marks (mat dk K) (mat dv V) (vec dq q)).
Proof.
  intros ai a z r marks K V q Ha H. pose proof (enc_ruled_log ai a z r marks K V q Ha H) as Hl.
  unfold ruled_log2, ruled_log2I. induction Hl; simpl; constructor; auto. apply enc_div; auto.
  - pose proof ln_lt_2. lra.
  - apply enc_ln. lra. apply enc_Z.
Qed.
Definition visible (z : sink) (marks : list Z) (K : list (list Z)) : bool := marked marks K.
End Query.

Section Heads.
Variables (fI : I.type -> sink -> Z -> list Z -> list (list Z) -> list (list Z) -> list Z -> list I.type).
Variables (f : R -> sink -> Z -> list Z -> matrix -> matrix -> vector -> vector).
Variables (ok : sink -> list Z -> list (list Z) -> bool) (p : F.precision) (da dk dv dq : positive).
Hypothesis f_correct : forall ai a z r marks K V q, enc ai a -> ok z marks K = true ->
  encs (fI ai z r marks K V q) (f a z r marks (mat dk K) (mat dv V) (vec dq q)).

Fixpoint ruled_rows (ai : I.type) (z : sink) (diagonal : list Z) (marks K V Q : list (list Z)) : list (list I.type) :=
  match diagonal, marks, Q with
  | r :: diagonal', m :: marks', q :: Q' => fI ai z r m K V q :: ruled_rows ai z diagonal' marks' K V Q'
  | _, _, _ => []
  end.
Lemma ruled_rows_correct : forall ai a z K V, enc ai a -> forall diagonal marks Q,
  forallb (fun m => ok z m K) marks = true ->
  rows (ruled_rows ai z diagonal marks K V Q) (ruled_queries f a z diagonal marks (mat dk K) (mat dv V) (mat dq Q)).
Proof.
  intros ai a z K V Ha. induction diagonal as [|r diagonal IH]; intros [|m marks] [|q Q] H; simpl; try constructor;
    simpl in H; apply andb_prop in H; destruct H as [H H']; auto.
  now apply IH.
Qed.

Fixpoint ruled_heads_rows (slopes : list Z) (sinks : list sink) (diagonals : list (list Z))
    (marks Ks Vs Qs : list (list (list Z))) : list (list (list I.type)) :=
  match slopes, sinks, diagonals, marks, Ks, Vs, Qs with
  | a :: slopes', z :: sinks', r :: diagonals', m :: marks', K :: Ks', V :: Vs', Q :: Qs' =>
      ruled_rows (ratioI p a da) z r m K V Q :: ruled_heads_rows slopes' sinks' diagonals' marks' Ks' Vs' Qs'
  | _, _, _, _, _, _, _ => []
  end.
Fixpoint ruled_ok (sinks : list sink) (marks Ks : list (list (list Z))) : bool :=
  match sinks, marks, Ks with
  | z :: sinks', m :: marks', K :: Ks' => forallb (fun each => ok z each K) m && ruled_ok sinks' marks' Ks'
  | _, _, _ => true
  end.
Lemma ruled_heads_correct : forall slopes sinks diagonals marks Ks Vs Qs, ruled_ok sinks marks Ks = true ->
  Forall2 rows (ruled_heads_rows slopes sinks diagonals marks Ks Vs Qs)
    (ruled_heads f (vec da slopes) sinks diagonals marks (map (mat dk) Ks) (map (mat dv) Vs) (map (mat dq) Qs)).
Proof.
  induction slopes as [|a slopes IH]; intros [|z sinks] [|r diagonals] [|m marks] [|K Ks] [|V Vs] [|Q Qs] H; simpl;
    try constructor; simpl in H; apply andb_prop in H; destruct H as [H H'].
  - apply ruled_rows_correct; auto. apply enc_ratio.
  - now apply IH.
Qed.
End Heads.
End Rules.
