(** Max-margin problems: solutions by the conditions of Karush, Kuhn and Tucker, and contradictions by Farkas' lemma,
    checked with exact integers. *)
From Coq Require Import Reals ZArith List Bool Lra Lia.
From CertAttn Require Import Statements Integers.
Import ListNotations.
Open Scope R_scope.

(** * Over the reals *)

Lemma dot_comm : forall a b, dot a b = dot b a.
Proof. induction a; intros [|v b]; simpl; auto. rewrite IHa. ring. Qed.
Lemma dot_zero : forall n q, dot (repeat 0 n) q = 0.
Proof. induction n; intros [|v q]; simpl; auto. rewrite IHn. ring. Qed.
Lemma dot_linear : forall l d w q, length d = length w ->
  dot (map (fun uv => l * fst uv + snd uv) (combine d w)) q = l * dot d q + dot w q.
Proof.
  intros l. induction d as [|u d IH]; intros [|v w] q H; try discriminate; simpl.
  - ring.
  - destruct q as [|x q]; simpl. ring. rewrite IH by (simpl in H; lia). ring.
Qed.
Lemma combination_length : forall n L D, Forall (fun d => length d = n) D -> length (combination n L D) = n.
Proof.
  intros n L D H. revert L. induction H as [|d D Hd H IH]; intros [|l L]; simpl; try apply repeat_length.
  rewrite map_length, combine_length, IH. lia.
Qed.
Lemma square_ge_0 : forall x, 0 <= dot x x.
Proof. induction x; simpl; nra. Qed.
Lemma square_minus : forall p q, length p = length q ->
  dot (minus q p) (minus q p) = dot q q - 2 * dot p q + dot p p.
Proof.
  induction p as [|u p IH]; intros [|v q] H; try discriminate; simpl. ring.
  rewrite IH by (simpl in H; lia). ring.
Qed.
Lemma square_minus_0 : forall p q, length p = length q -> dot (minus q p) (minus q p) <= 0 -> q = p.
Proof.
  induction p as [|u p IH]; intros [|v q] H Hn; try discriminate; auto.
  simpl in *. pose proof (square_ge_0 (minus q p)).
  assert (v = u) by nra. subst. f_equal. apply IH. lia. nra.
Qed.

(** lambda_j >= 0, and where it is positive the constraint is tight *)
Inductive kkt (p : vector) : vector -> matrix -> vector -> Prop :=
| kkt_nil : kkt p [] [] []
| kkt_cons : forall l z r L D R, 0 <= l -> r <= dot z p -> (0 < l -> dot z p = r) -> kkt p L D R ->
    kkt p (l :: L) (z :: D) (r :: R).

Theorem kkt_least : forall n L D levels p,
  Forall (fun d => length d = n) D -> kkt p L D levels -> p = combination n L D -> least_point n D levels p.
Proof.
  intros n L D levels p Hlen Hk Hp.
  assert (Hlp : length p = n) by (rewrite Hp; apply combination_length; auto).
  assert (Hf : feasible D levels p). { clear -Hk. induction Hk; simpl; auto. }
  split; [auto|]. split; [auto|].
  assert (Hmain : forall q, feasible D levels q -> dot p p <= dot p q).
  { intros q Hq.
    assert (Hg : forall P, kkt P L D levels -> dot (combination n L D) P <= dot (combination n L D) q).
    { clear Hk Hp Hf Hlp. intros P Hk.
      induction Hk as [|l d r L D levels Hl0 H1 Heq Hk IH]; simpl. rewrite !dot_zero. lra.
      inversion Hlen as [|? ? Hd Hlen']; subst. simpl in Hq. destruct Hq as [Hd1 Hq'].
      rewrite !dot_linear by (rewrite combination_length; auto).
      specialize (IH Hlen' Hq').
      destruct (Rle_lt_or_eq_dec _ _ Hl0) as [Hl|<-]; [rewrite (Heq Hl); nra|nra]. }
    specialize (Hg p Hk). rewrite <- Hp in Hg. exact Hg. }
  intros q Hlq Hq. specialize (Hmain q Hq).
  assert (He : length p = length q) by congruence.
  pose proof (square_minus p q He). pose proof (square_ge_0 (minus q p)).
  split. lra. intros Hle. apply square_minus_0; auto. lra.
Qed.

(** Weights that are not negative and combine the rows to 0 but the levels to more than 0. *)
Theorem farkas : forall n mu D levels,
  Forall (fun d => length d = n) D -> Forall (fun m => 0 <= m) mu -> length mu = length D ->
  combination n mu D = repeat 0 n -> 0 < dot mu levels -> forall q, ~ feasible D levels q.
Proof.
  intros n mu D levels Hlen Hmu Hl Hc Ht q Hq.
  assert (H : dot mu levels <= dot (combination n mu D) q).
  { clear Hc Ht. revert levels mu Hmu Hl Hq. induction Hlen as [|d D Hd Hlen IH]; intros [|r levels] [|m mu] Hmu Hl Hq;
      simpl in *; try discriminate; try contradiction.
    - rewrite dot_zero. lra.
    - inversion Hmu as [|? ? Hm Hmu']; subst. destruct Hq as [Hq1 Hq2].
      rewrite dot_linear by (rewrite combination_length; auto).
      injection Hl as Hl. specialize (IH levels mu Hmu' Hl Hq2). nra. }
  rewrite Hc, dot_zero in H. lra.
Qed.

(** * With integers: z_j = D_j/dd, p = P/dp, lambda_j = L_j/dl, levels r_j whole numbers *)
Section Check.
Variables (n : nat) (dd dp dl : positive) (D : list (list Z)) (P L : list Z) (levels : list Z).

Fixpoint addmul (l : Z) (d acc : list Z) : list Z :=
  match d, acc with u :: d', v :: acc' => (l * u + v)%Z :: addmul l d' acc' | _, _ => [] end.
Fixpoint combinationZ (L : list Z) (D : list (list Z)) : list Z :=
  match L, D with
  | l :: L', d :: D' => let w := combinationZ L' D' in if (l =? 0)%Z then w else addmul l d w
  | _, _ => repeat 0%Z n
  end.
Fixpoint lengths (D : list (list Z)) : bool :=
  match D with d :: D' => Nat.eqb (length d) n && lengths D' | [] => true end.

(** The slack of a constraint, times dd dp > 0. *)
Definition slackZ (d : list Z) (r : Z) : Z := (dotZ d P - r * Zpos (dd * dp))%Z.
Fixpoint kktZ (L : list Z) (D : list (list Z)) (R : list Z) : bool :=
  match L, D, R with
  | [], [], [] => true
  | l :: L', d :: D', r :: R' =>
      (if (l =? 0)%Z then (0 <=? slackZ d r)%Z else (0 <? l)%Z && (slackZ d r =? 0)%Z) && kktZ L' D' R'
  | _, _, _ => false
  end.
Fixpoint equal_scaled (k1 k2 : Z) (A B : list Z) : bool :=
  match A, B with
  | [], [] => true
  | x :: A', y :: B' => (k1 * x =? k2 * y)%Z && equal_scaled k1 k2 A' B'
  | _, _ => false
  end.
Definition kkt_check : bool :=
  lengths D && kktZ L D levels && equal_scaled (Zpos (dl * dd)) (Zpos dp) P (combinationZ L D).

Lemma lengths_correct : forall D, lengths D = true -> Forall (fun d => length d = n) D.
Proof.
  induction D0 as [|d D0 IH]; simpl; intros H; constructor; apply andb_prop in H; destruct H.
  now apply Nat.eqb_eq. auto.
Qed.
Lemma lengths_mat : forall D, lengths D = true -> Forall (fun d => length d = n) (mat dd D).
Proof.
  intros D0 H. unfold mat. apply Forall_map. generalize (lengths_correct _ H). apply Forall_impl.
  intros d Hd. now rewrite length_vec.
Qed.

Lemma combinationZ_correct : forall L D, Forall (fun d => length d = n) D ->
  length (combinationZ L D) = n /\ combination n (vec dl L) (mat dd D) = vec (dl * dd) (combinationZ L D).
Proof.
  pose proof (den_neq_0 dl) as Hl. pose proof (den_neq_0 dd) as Hd.
  assert (H0 : repeat 0 n = vec (dl * dd) (repeat 0%Z n)).
  { unfold vec. clear. induction n; simpl; auto. rewrite IHn0. unfold Rdiv. rewrite Rmult_0_l. auto. }
  intros L0 D0 H. revert L0.
  induction H as [|d D0 Hx H IH]; intros [|l L0]; try (split; [apply repeat_length|exact H0]).
  destruct (IH L0) as [IHl IHe].
  change (mat dd (d :: D0)) with (vec dd d :: mat dd D0).
  change (vec dl (l :: L0)) with (IZR l / IZR (Zpos dl) :: vec dl L0).
  cbn [combination combinationZ]. rewrite IHe. clear IHe H0.
  revert Hx IHl. generalize (combinationZ L0 D0). clear -Hl Hd.
  destruct (Z.eqb_spec l 0) as [->|Hn].
  - intros w Hx IHl. split; auto. revert n w Hx IHl.
    induction d as [|u d IH]; intros [|k] [|w ws] Hx IHl; try discriminate; auto.
    unfold vec in *. simpl. f_equal.
    + unfold Rdiv. ring.
    + apply (IH k); auto.
  - intros w Hx IHl. split.
    + revert n w Hx IHl. clear.
      induction d as [|u d IH]; intros [|k] [|w ws] Hx IHl; try discriminate; auto.
      simpl. f_equal. apply IH; auto.
    + revert n w Hx IHl.
      induction d as [|u d IH]; intros [|k] [|w ws] Hx IHl; try discriminate; auto.
      unfold vec in *. cbn [map addmul combine fst snd]. f_equal.
      * rewrite plus_IZR, mult_IZR. rewrite den_mul. field. auto.
      * apply (IH k); auto.
Qed.

Lemma slack_correct : forall d r,
  dot (vec dd d) (vec dp P) - IZR r = IZR (slackZ d r) * / IZR (Zpos (dd * dp)).
Proof.
  intros. rewrite dot_vec. unfold slackZ, ratio. rewrite minus_IZR, mult_IZR. field. apply den_neq_0.
Qed.
Lemma slack_ge : forall d r, (0 <= slackZ d r)%Z -> IZR r <= dot (vec dd d) (vec dp P).
Proof.
  intros d r H. pose proof (slack_correct d r). apply IZR_le in H.
  assert (0 <= IZR (slackZ d r) * / IZR (Zpos (dd * dp))).
  { apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat, den_gt_0. }
  lra.
Qed.
Lemma slack_eq : forall d r, slackZ d r = 0%Z -> dot (vec dd d) (vec dp P) = IZR r.
Proof. intros d r H. pose proof (slack_correct d r) as Hs. rewrite H, Rmult_0_l in Hs. lra. Qed.
Lemma slack_gt : forall d r, (0 < slackZ d r)%Z -> IZR r < dot (vec dd d) (vec dp P).
Proof.
  intros d r H. pose proof (slack_correct d r). apply IZR_lt in H.
  assert (0 < IZR (slackZ d r) * / IZR (Zpos (dd * dp))).
  { apply Rmult_lt_0_compat; auto. apply Rinv_0_lt_compat, den_gt_0. }
  lra.
Qed.

Lemma vec_1 : forall r R, vec 1 (r :: R) = IZR r :: vec 1 R.
Proof. intros. unfold vec. simpl. f_equal. field. Qed.
Lemma vec_pos : forall l, (0 < l)%Z -> 0 < IZR l / IZR (Zpos dl).
Proof. intros. apply Rdiv_lt_0_compat. now apply IZR_lt. apply den_gt_0. Qed.

Lemma kktZ_correct : forall L D R, kktZ L D R = true -> kkt (vec dp P) (vec dl L) (mat dd D) (vec 1 R).
Proof.
  intros L0 D0. revert L0. induction D0 as [|d D0 IH]; intros [|l L0] [|r R] H; try discriminate; [constructor|].
  simpl in H. apply andb_prop in H. destruct H as [H Hr]. rewrite vec_1.
  change (mat dd (d :: D0)) with (vec dd d :: mat dd D0).
  change (vec dl (l :: L0)) with (IZR l / IZR (Zpos dl) :: vec dl L0).
  destruct (Z.eqb_spec l 0) as [->|Hn].
  - apply Z.leb_le in H. constructor; [| |intros Hl|now apply IH].
    + unfold Rdiv. lra.
    + now apply slack_ge.
    + exfalso. unfold Rdiv in Hl. lra.
  - apply andb_prop in H. destruct H as [Hl Hs]. apply Z.ltb_lt in Hl. apply Z.eqb_eq in Hs.
    pose proof (slack_eq _ _ Hs). constructor; [| |auto|now apply IH].
    + left. now apply vec_pos.
    + lra.
Qed.

Lemma equal_scaled_correct : forall A B,
  equal_scaled (Zpos (dl * dd)) (Zpos dp) A B = true -> vec dp A = vec (dl * dd) B.
Proof.
  unfold vec. induction A as [|x A IH]; intros [|y B] H; try discriminate; auto.
  cbn [equal_scaled] in H. apply andb_prop in H. destruct H as [H Hr]. simpl. f_equal; auto.
  apply Z.eqb_eq in H. apply (f_equal IZR) in H. rewrite !mult_IZR in H.
  pose proof (den_neq_0 dp). pose proof (den_neq_0 (dl * dd)).
  apply Rmult_eq_reg_r with (IZR (Zpos dp) * IZR (Zpos (dl * dd))).
  - transitivity (IZR (Zpos (dl * dd)) * IZR x). { field. auto. } rewrite H. field. auto.
  - apply Rmult_integral_contrapositive_currified; auto.
Qed.

Lemma combination_equal : lengths D = true -> equal_scaled (Zpos (dl * dd)) (Zpos dp) P (combinationZ L D) = true ->
  vec dp P = combination n (vec dl L) (mat dd D).
Proof.
  intros Hl He. rewrite (equal_scaled_correct _ _ He). symmetry.
  apply combinationZ_correct, lengths_correct; auto.
Qed.

Theorem kkt_sound : kkt_check = true -> least_point n (mat dd D) (vec 1 levels) (vec dp P).
Proof.
  unfold kkt_check. intros H. apply andb_prop in H. destruct H as [H He]. apply andb_prop in H. destruct H as [Hl Hk].
  apply kkt_least with (vec dl L).
  - now apply lengths_mat.
  - now apply kktZ_correct.
  - now apply combination_equal.
Qed.

(** ** Tight constraints, the support, the margin *)

Fixpoint tightZ (a : apart) (marks : list bool) (D : list (list Z)) (R : list Z) : bool :=
  match marks, D, R with
  | [], [], [] => true
  | m :: ms, d :: D', r :: R' =>
      (if m then (slackZ d r =? 0)%Z
       else match a with
            | more_than_equal => (0 <? slackZ d r)%Z
            | at_least_by g e => (g * Zpos (dd * dp) <=? slackZ d r * Zpos e)%Z
            end) && tightZ a ms D' R'
  | _, _, _ => false
  end.
Theorem tight_sound : forall a marks,
  tightZ a marks D levels = true -> tight_exactly a marks (mat dd D) (vec 1 levels) (vec dp P).
Proof.
  intros a. generalize levels. induction D as [|d D0 IH]; intros [|r R] [|m ms] H; try discriminate; simpl; auto.
  simpl in H. apply andb_prop in H. destruct H as [H Hr]. specialize (IH _ _ Hr).
  replace (IZR r / 1) with (IZR r) by field.
  split; auto. clear IH Hr. destruct m.
  - apply slack_eq. now apply Z.eqb_eq.
  - destruct a as [|g e].
    + apply slack_gt. now apply Z.ltb_lt.
    + apply Z.leb_le, IZR_le in H. rewrite !mult_IZR in H. pose proof (slack_correct d r) as Hs.
      assert (He := den_gt_0 e). assert (Hp := den_gt_0 (dd * dp)).
      assert (ratio g e <= IZR (slackZ d r) * / IZR (Zpos (dd * dp))).
      { unfold ratio. apply Rmult_le_reg_r with (IZR (Zpos e) * IZR (Zpos (dd * dp))).
        - now apply Rmult_lt_0_compat.
        - replace (IZR g / IZR (Z.pos e) * (IZR (Z.pos e) * IZR (Z.pos (dd * dp))))
            with (IZR g * IZR (Z.pos (dd * dp))) by (field; lra).
          replace (IZR (slackZ d r) * / IZR (Z.pos (dd * dp)) * (IZR (Z.pos e) * IZR (Z.pos (dd * dp))))
            with (IZR (slackZ d r) * IZR (Z.pos e)) by (field; lra). auto. }
      lra.
Qed.

Fixpoint marksZ (L : list Z) (marks : list bool) : bool :=
  match L, marks with
  | [], [] => true
  | l :: L', m :: ms => Bool.eqb m (negb (l =? 0)%Z) && marksZ L' ms
  | _, _ => false
  end.
Theorem support_sound : forall marks, kkt_check = true -> marksZ L marks = true ->
  supported n marks (mat dd D) (vec 1 levels) (vec dp P).
Proof.
  intros marks H Hm. unfold kkt_check in H.
  apply andb_prop in H. destruct H as [H He]. apply andb_prop in H. destruct H as [Hl Hk].
  exists (vec dl L). split. 2: now apply combination_equal.
  clear He Hl. revert Hk Hm. generalize levels marks. generalize L.
  induction D as [|d D0 IH]; intros [|l L0] [|r R] [|m ms] Hk Hm; try discriminate; simpl; auto.
  simpl in Hk, Hm. apply andb_prop in Hk. destruct Hk as [Hk Hk']. apply andb_prop in Hm. destruct Hm as [Hm Hm'].
  replace (IZR r / 1) with (IZR r) by field.
  split. 2: now apply (IH L0 R ms). apply Bool.eqb_prop in Hm. subst m.
  destruct (Z.eqb_spec l 0) as [->|Hn]; simpl.
  - unfold Rdiv. ring.
  - apply andb_prop in Hk. destruct Hk as [Hp Hs]. apply Z.ltb_lt in Hp. apply Z.eqb_eq in Hs.
    split. now apply vec_pos. now apply slack_eq.
Qed.

(** Bounds on 1 / |p|, compared as squares: |p|^2 = N / dp^2. *)
Definition squareZ : Z := dotZ P P.
Lemma square_correct : dot (vec dp P) (vec dp P) = IZR squareZ / (IZR (Zpos dp) * IZR (Zpos dp)).
Proof. rewrite dot_vec. unfold ratio. now rewrite den_mul. Qed.
Lemma square_pos : (0 < squareZ)%Z -> 0 < dot (vec dp P) (vec dp P).
Proof.
  intros H. rewrite square_correct. pose proof (den_gt_0 dp). apply Rdiv_lt_0_compat. now apply IZR_lt. nra.
Qed.
Lemma root_bound : forall x y, 0 <= y -> 0 < x -> y * y * x <= 1 -> y <= / sqrt x.
Proof.
  intros x y Hy Hx H. pose proof (sqrt_lt_R0 x Hx). apply Rmult_le_reg_r with (sqrt x); auto.
  rewrite Rinv_l by lra. apply Rsqr_incr_0_var; [|lra]. unfold Rsqr. pose proof (sqrt_sqrt x). nra.
Qed.
Lemma root_bound' : forall x y, 0 <= y -> 0 < x -> 1 <= y * y * x -> / sqrt x <= y.
Proof.
  intros x y Hy Hx H. pose proof (sqrt_lt_R0 x Hx). apply Rmult_le_reg_r with (sqrt x); auto.
  rewrite Rinv_l by lra. apply Rsqr_incr_0_var; [|nra]. unfold Rsqr. pose proof (sqrt_sqrt x). nra.
Qed.
Theorem margin_at_least : forall a b,
  (0 <=? a)%Z && (0 <? squareZ)%Z && (a * a * squareZ <=? Zpos (b * b * (dp * dp)))%Z = true ->
  ratio a b <= margin (vec dp P).
Proof.
  intros a b H. apply andb_prop in H. destruct H as [H Hc]. apply andb_prop in H. destruct H as [Ha Hs].
  apply Z.leb_le in Ha, Hc. apply Z.ltb_lt in Hs. apply IZR_le in Ha, Hc. pose proof (square_pos Hs).
  pose proof (den_gt_0 b). pose proof (den_gt_0 dp). unfold margin. apply root_bound; auto.
  - apply Rmult_le_pos; auto. left. now apply Rinv_0_lt_compat.
  - rewrite square_correct. unfold ratio. rewrite !den_mul, !mult_IZR in Hc.
    apply Rmult_le_reg_r with (IZR (Zpos b) * IZR (Zpos b) * (IZR (Zpos dp) * IZR (Zpos dp))).
    { repeat apply Rmult_lt_0_compat; auto. }
    match goal with |- ?x * _ <= _ => replace (x * _) with (IZR a * IZR a * IZR squareZ) by (field; lra) end. lra.
Qed.
Theorem margin_at_most : forall a b,
  (0 <=? a)%Z && (0 <? squareZ)%Z && (Zpos (b * b * (dp * dp)) <=? a * a * squareZ)%Z = true ->
  margin (vec dp P) <= ratio a b.
Proof.
  intros a b H. apply andb_prop in H. destruct H as [H Hc]. apply andb_prop in H. destruct H as [Ha Hs].
  apply Z.leb_le in Ha, Hc. apply Z.ltb_lt in Hs. apply IZR_le in Ha, Hc. pose proof (square_pos Hs).
  pose proof (den_gt_0 b). pose proof (den_gt_0 dp). unfold margin. apply root_bound'; auto.
  - apply Rmult_le_pos; auto. left. now apply Rinv_0_lt_compat.
  - rewrite square_correct. unfold ratio. rewrite !den_mul, !mult_IZR in Hc.
    apply Rmult_le_reg_r with (IZR (Zpos b) * IZR (Zpos b) * (IZR (Zpos dp) * IZR (Zpos dp))).
    { repeat apply Rmult_lt_0_compat; auto. }
    match goal with |- _ <= ?x * _ => replace (x * _) with (IZR a * IZR a * IZR squareZ) by (field; lra) end. lra.
Qed.

(** ** Contradictions; the weights are L / dl *)
Definition farkas_check : bool :=
  lengths D && Nat.eqb (length L) (length D) && forallb (fun l => (0 <=? l)%Z) L &&
  forallb (fun z => (z =? 0)%Z) (combinationZ L D) && (0 <? dotZ L levels)%Z.
Theorem farkas_sound : farkas_check = true -> forall q, ~ feasible (mat dd D) (vec 1 levels) q.
Proof.
  unfold farkas_check. intros H. apply andb_prop in H. destruct H as [H Ht]. apply andb_prop in H. destruct H as [H Hc].
  apply andb_prop in H. destruct H as [H Hp]. apply andb_prop in H. destruct H as [Hl Hn].
  pose proof (lengths_correct _ Hl) as Hlen. destruct (combinationZ_correct L D Hlen) as [Hcl Hce].
  apply farkas with n (vec dl L).
  - now apply lengths_mat.
  - rewrite forallb_forall in Hp. unfold vec. apply Forall_map. rewrite Forall_forall. intros l Hin.
    apply Hp, Z.leb_le, IZR_le in Hin. apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat, den_gt_0.
  - unfold mat. rewrite map_length, length_vec. now apply Nat.eqb_eq.
  - rewrite Hce. clear Hce. revert Hcl Hc. generalize (combinationZ L D). clear. unfold vec.
    induction n as [|k IH]; intros [|z l] Hl H; try discriminate; auto. simpl in *.
    apply andb_prop in H. destruct H as [Hz H]. apply Z.eqb_eq in Hz. subst z.
    rewrite IH; auto. f_equal. unfold Rdiv. ring.
  - rewrite dot_vec. apply Z.ltb_lt in Ht. apply Rdiv_lt_0_compat. now apply IZR_lt. apply den_gt_0.
Qed.
End Check.
