(** Locally optimal selections of tokens, decided with exact integers: keys K/kd and scores G/gd.

    What proves something of a selection are multipliers of some of its rows z_j: with those of Karush, Kuhn and Tucker
    its shortest point is known, and with it all neighbours; a combination of rows that is 0 shows that there is none,
    for every selection that has these rows. *)
From Coq Require Import Reals ZArith List Bool Lra Lia.
From CertAttn Require Import Statements Integers Rows Margin.
Import ListNotations.
Open Scope R_scope.

(** * Some rows of a selection, with multipliers *)

(** For each of the first inputs, None, or a chosen token with multipliers of others. *)
Definition terms := list (nat * Z).
Definition combo := list (option (nat * terms)).
Fixpoint rowsZ (c : combo) (K : list (list (list Z))) : list (list Z) :=
  match c, K with
  | Some (a, ts) :: c', k :: K' => map (fun t => minusZ (nth a k []) (nth (fst t) k [])) ts ++ rowsZ c' K'
  | None :: c', _ :: K' => rowsZ c' K'
  | _, _ => []
  end.
Definition weightsZ (c : combo) : list Z :=
  flat_map (fun e => match e with Some (_, ts) => map snd ts | None => [] end) c.
(** The others are tokens, and not the chosen ones. *)
Fixpoint proper (c : combo) (K : list (list (list Z))) : bool :=
  match c, K with
  | [], _ => true
  | Some (a, ts) :: c', k :: K' =>
      forallb (fun t => negb (Nat.eqb (fst t) a) && Nat.ltb (fst t) (length k)) ts && proper c' K'
  | None :: c', _ :: K' => proper c' K'
  | _, [] => false
  end.
(** The selection has the chosen tokens of the combination. *)
Fixpoint covers (c : combo) (alphas : list nat) : bool :=
  match c, alphas with
  | [], _ => true
  | Some (a, _) :: c', b :: alphas' => Nat.eqb a b && covers c' alphas'
  | None :: c', _ :: alphas' => covers c' alphas'
  | _, [] => false
  end.
Definition full (alphas : list nat) (others : list terms) : combo := map Some (combine alphas others).

Lemma covers_full : forall alphas others, covers (full alphas others) alphas = true.
Proof.
  induction alphas as [|a alphas IH]; intros [|ts others]; simpl; auto. rewrite Nat.eqb_refl. simpl. apply IH.
Qed.
Lemma others_nth : forall (A : Type) (l : list A) (x : A) a t,
  t <> a -> (t < length l)%nat -> In (nth t l x) (others a l).
Proof.
  induction l as [|y l IH]; intros x [|a] [|t] Hn Ht; simpl in *; try lia; auto.
  - apply nth_In. lia.
  - right. apply IH; lia.
Qed.
Lemma rows_of_selection : forall c alphas K,
  proper c K = true -> covers c alphas = true -> incl (rowsZ c K) (selectionZ alphas K).
Proof.
  induction c as [|[[a ts]|] c IH]; intros [|b alphas] [|k K] Hp Hc; simpl in *; try discriminate;
    try (intros ? []).
  - apply andb_prop in Hp. destruct Hp as [Hts Hp]. apply andb_prop in Hc. destruct Hc as [Ha Hc].
    apply Nat.eqb_eq in Ha. subst b. apply incl_app.
    + intros z Hz. apply in_or_app. left. apply in_map_iff in Hz. destruct Hz as [t [<- Ht]].
      rewrite forallb_forall in Hts. apply Hts, andb_prop in Ht. destruct Ht as [Hne Hlt].
      apply negb_true_iff, Nat.eqb_neq in Hne. apply Nat.ltb_lt in Hlt.
      unfold differencesZ. apply in_map. now apply others_nth.
    + intros z Hz. apply in_or_app. right. now apply IH.
  - intros z Hz. apply in_or_app. right. now apply IH.
Qed.

(** * All selections but those that a combination covers *)

Definition onward (t : nat) (c : combo) : list combo :=
  match c with
  | [] => [[]]
  | Some (a, _) :: c' => if Nat.eqb a t then [c'] else []
  | None :: c' => [c']
  end.
Definition finished (c : combo) : bool := match c with [] => true | _ => false end.
Fixpoint uncut (lengths : list nat) (cuts : list combo) : list (list nat) :=
  if existsb finished cuts then [] else
  match lengths with
  | [] => [[]]
  | T :: lengths' => flat_map (fun t => map (cons t) (uncut lengths' (flat_map (onward t) cuts))) (seq 0 T)
  end.

Lemma onward_covers : forall t c c' alphas,
  In c' (onward t c) -> covers c' alphas = true -> covers c (t :: alphas) = true.
Proof.
  intros t [|[[a ts]|] c] c' alphas Hin Hc; simpl in *; auto.
  - destruct (Nat.eqb a t); simpl in *; [destruct Hin as [->|[]]; auto | contradiction].
  - destruct Hin as [->|[]]; auto.
Qed.
Lemma uncut_or_covered : forall lengths cuts alphas, Forall2 lt alphas lengths ->
  In alphas (uncut lengths cuts) \/ exists c, In c cuts /\ covers c alphas = true.
Proof.
  induction lengths as [|T lengths IH]; intros cuts alphas H.
  all: simpl; destruct (existsb finished cuts) eqn:E;
    [ right; apply existsb_exists in E; destruct E as [[|? ?] [Hin Hf]]; [exists []; auto|discriminate] |].
  - inversion H. left. now left.
  - inversion H as [|a T' alphas' lengths' Ha Hr]; subst.
    destruct (IH (flat_map (onward a) cuts) alphas' Hr) as [Hin|[c [Hin Hc]]].
    + left. apply in_flat_map. exists a. split. apply in_seq; lia. now apply in_map.
    + right. apply in_flat_map in Hin. destruct Hin as [c0 [Hin0 Hin]]. exists c0. split; auto.
      now apply onward_covers with c.
Qed.
Lemma uncut_selects : forall lengths cuts alphas, In alphas (uncut lengths cuts) -> Forall2 lt alphas lengths.
Proof.
  induction lengths as [|T lengths IH]; intros cuts alphas; simpl; destruct (existsb finished cuts); try contradiction.
  - intros [<-|[]]. constructor.
  - intros H. apply in_flat_map in H. destruct H as [t [Ht H]]. apply in_map_iff in H. destruct H as [r [<- Hr]].
    apply in_seq in Ht. constructor. lia. now apply IH with (flat_map (onward t) cuts).
Qed.

(** * Neighbours *)

Lemma key_mat : forall d K i t, key (map (mat d) K) i t = vec d (nth t (nth i K []) []).
Proof.
  intros. unfold key. change (@nil vector) with (mat d []). rewrite map_nth. unfold mat.
  change (@nil R) with (vec d []). apply map_nth.
Qed.
Lemma score_mat : forall d G i t, score (map (vec d) G) i t = ratio (nth t (nth i G []) 0%Z) d.
Proof. intros. unfold score. change (@nil R) with (vec d []). rewrite map_nth. apply nth_vec. Qed.
Lemma ratio_lt : forall a b d, (a < b)%Z <-> ratio a d < ratio b d.
Proof.
  intros. unfold ratio, Rdiv. pose proof (Rinv_0_lt_compat _ (den_gt_0 d)). split; intros Hl.
  - apply Rmult_lt_compat_r; auto. now apply IZR_lt.
  - apply lt_IZR. apply Rmult_lt_reg_r in Hl; auto.
Qed.
Lemma ratio_le : forall a b d, (a <= b)%Z -> ratio a d <= ratio b d.
Proof.
  intros. unfold ratio, Rdiv. pose proof (Rinv_0_lt_compat _ (den_gt_0 d)). apply Rmult_le_compat_r. lra.
  now apply IZR_le.
Qed.
Lemma dot_self : forall x p, dot (minus x x) p = 0.
Proof. induction x as [|u x IH]; intros [|v p]; simpl; auto. rewrite IH. ring. Qed.

Section Neighbours.
Variables (kd gd dp : positive) (P : list Z).

Definition tight (a t : list Z) : bool := (slackZ kd dp P (minusZ a t) 1 =? 0)%Z.
Fixpoint worse (alphas : list nat) (K : list (list (list Z))) (G : list (list Z)) : bool :=
  match alphas, K, G with
  | a :: alphas', k :: K', g :: G' =>
      forallb (fun kg => if tight (nth a k []) (fst kg) then (snd kg <? nth a g 0)%Z else true) (combine k g)
      && worse alphas' K' G'
  | _, _, _ => true
  end.

Lemma tight_correct : forall a t, tight a t = true <-> dot (minus (vec kd a) (vec kd t)) (vec dp P) = 1.
Proof.
  intros a t. unfold tight. rewrite Z.eqb_eq, minus_vec.
  pose proof (slack_correct kd dp P (minusZ a t) 1) as Hs. simpl in Hs. split; intros H.
  - rewrite H in Hs. lra.
  - rewrite H in Hs. apply eq_IZR. pose proof (Rinv_0_lt_compat _ (den_gt_0 (kd * dp))).
    apply Rmult_eq_reg_r with (/ IZR (Zpos (kd * dp))); simpl; lra.
Qed.

Lemma worse_true : forall alphas K G, map (@length (list Z)) K = map (@length Z) G -> worse alphas K G = true ->
  length alphas = length K -> forall i t, (i < length K)%nat -> (t < length (nth i K []))%nat ->
  tight (nth (nth i alphas O) (nth i K []) []) (nth t (nth i K []) []) = true ->
  (nth t (nth i G []) 0 < nth (nth i alphas O) (nth i G []) 0)%Z.
Proof.
  induction alphas as [|a alphas IH]; intros [|k K] [|g G] Hl Hw Hn i t Hi Ht Htight; simpl in *; try discriminate;
    try lia.
  injection Hl as Hg Hl. injection Hn as Hn. apply andb_prop in Hw. destruct Hw as [Hw Hr].
  destruct i as [|i]; [|apply IH with (K := K); auto; lia].
  rewrite forallb_forall in Hw. specialize (Hw (nth t k [], nth t g 0%Z)). simpl in Hw.
  rewrite Htight in Hw. apply Z.ltb_lt, Hw. rewrite <- combine_nth by auto. apply nth_In.
  rewrite combine_length. lia.
Qed.
Lemma worse_false : forall alphas K G, map (@length (list Z)) K = map (@length Z) G -> worse alphas K G = false ->
  exists i t, (i < length K)%nat /\ (t < length (nth i K []))%nat /\
  tight (nth (nth i alphas O) (nth i K []) []) (nth t (nth i K []) []) = true /\
  (nth (nth i alphas O) (nth i G []) 0 <= nth t (nth i G []) 0)%Z.
Proof.
  induction alphas as [|a alphas IH]; intros [|k K] [|g G] Hl Hw; simpl in *; try discriminate.
  injection Hl as Hg Hl. apply andb_false_iff in Hw. destruct Hw as [Hw|Hw].
  - exists O.
    assert (He : existsb (fun kg => tight (nth a k []) (fst kg) && negb (snd kg <? nth a g 0)%Z) (combine k g) = true).
    { revert Hw. generalize (combine k g). induction l as [|kg l IHl]; simpl; intros Hw; try discriminate.
      apply orb_true_iff. apply andb_false_iff in Hw. destruct Hw as [Hw|Hw]; [left|right; auto].
      destruct (tight (nth a k []) (fst kg)); try discriminate. now rewrite Hw. }
    apply existsb_exists in He. destruct He as [kg [Hin H]]. apply andb_prop in H. destruct H as [Ht Hs].
    apply (In_nth _ _ ([], 0%Z)) in Hin. destruct Hin as [t [Hlt Hnth]].
    rewrite combine_length in Hlt. rewrite combine_nth in Hnth by auto. subst kg. simpl in *.
    exists t. apply negb_true_iff, Z.ltb_ge in Hs. repeat split; auto; lia.
  - destruct (IH _ _ Hl Hw) as [i [t [Hi H]]]. exists (S i), t. split; [lia|exact H].
Qed.

Lemma neighbour_tight : forall K alphas i t, neighbour (map (mat kd) K) alphas (vec dp P) i t <->
  (i < length K)%nat /\ (t < length (nth i K []))%nat /\
  tight (nth (nth i alphas O) (nth i K []) []) (nth t (nth i K []) []) = true.
Proof.
  intros. unfold neighbour. rewrite !key_mat, tight_correct. rewrite map_length.
  change (@nil vector) with (mat kd []). rewrite map_nth. unfold mat at 1. rewrite map_length.
  split; [tauto|]. intros [Hi [Ht Hd]]. repeat split; auto.
  intros ->. rewrite dot_self in Hd. lra.
Qed.
End Neighbours.

(** * One selection *)

Lemma least_point_unique : forall n rows levels p q, least_point n rows levels p -> least_point n rows levels q -> q = p.
Proof.
  intros n rows levels p q [Hp [Hfp Hmp]] [Hq [Hfq Hmq]].
  destruct (Hmp q Hq Hfq) as [_ Heq]. destruct (Hmq p Hp Hfp) as [Hle _]. auto.
Qed.
Definition onesZ (D : list (list Z)) : list Z := map (fun _ => 1%Z) D.
Lemma feasible_ones : forall d D q,
  feasible (mat d D) (vec 1 (onesZ D)) q <-> Forall (fun z => 1 <= dot (vec d z) q) D.
Proof.
  intros d D q. induction D as [|z D IH]; simpl; [split; auto|]. rewrite IH. clear IH. rewrite Forall_cons_iff.
  replace (1 / 1) with 1 by field. tauto.
Qed.
Lemma feasible_fewer : forall d D E q, incl D E ->
  feasible (mat d E) (vec 1 (onesZ E)) q -> feasible (mat d D) (vec 1 (onesZ D)) q.
Proof. intros d D E q Hi. rewrite !feasible_ones, !Forall_forall. auto. Qed.
Lemma least_point_more : forall n d D E p, incl D E -> least_point n (mat d D) (vec 1 (onesZ D)) p ->
  feasible (mat d E) (vec 1 (onesZ E)) p -> least_point n (mat d E) (vec 1 (onesZ E)) p.
Proof.
  intros n d D E p Hi [Hl [_ Hm]] Hf. split; auto. split; auto. intros q Hq Hfq. apply Hm; auto.
  now apply feasible_fewer with E.
Qed.

Section Selections.
Variables (n : nat) (kd gd : positive) (K : list (list (list Z))) (G : list (list Z)).
Notation inputs := (map (mat kd) K).
Notation scores := (map (vec gd) G).

(** What proves something of a selection: multipliers over a common denominator. *)
Definition proof := (list terms * positive)%type.

Definition validZ (alphas : list nat) : bool :=
  Nat.eqb (length alphas) (length K) && forallb (fun ak => Nat.ltb (fst ak) (length (snd ak))) (combine alphas K).
Definition pointZ (alphas : list nat) (w : proof) : list Z :=
  let c := full alphas (fst w) in combinationZ n (weightsZ c) (rowsZ c K).
Definition denominator (w : proof) : positive := (snd w * kd)%positive.
Definition solved (alphas : list nat) (w : proof) : bool :=
  let c := full alphas (fst w) in let D := rowsZ c K in let P := pointZ alphas w in
  proper c K && kkt_check n kd (denominator w) (snd w) D P (weightsZ c) (onesZ D) &&
  forallb (fun z => 0 <=? slackZ kd (denominator w) P z 1)%Z (selectionZ alphas K).
Definition better (alphas : list nat) (w : proof) : bool :=
  worse kd (denominator w) (pointZ alphas w) alphas K G.
Definition contradicts (c : combo) : bool :=
  proper c K && (let D := rowsZ c K in farkas_check n D (weightsZ c) (onesZ D)).

Lemma validZ_correct : forall alphas, validZ alphas = true -> selection inputs alphas.
Proof.
  unfold validZ, selection. intros alphas H. apply andb_prop in H. destruct H as [Hl H]. apply Nat.eqb_eq in Hl.
  revert K Hl H. induction alphas as [|a alphas IH]; intros [|k K'] Hl H; simpl in *; try discriminate; constructor.
  - apply andb_prop in H. destruct H as [H _]. unfold mat. rewrite map_length. now apply Nat.ltb_lt.
  - apply andb_prop in H. destruct H as [_ H]. apply IH; auto.
Qed.
Lemma selection_length : forall alphas, selection inputs alphas -> length alphas = length K.
Proof.
  unfold selection. intros alphas. revert K. clear.
  induction alphas as [|a alphas IH]; intros [|k K] H; inversion H; subst; simpl; auto.
Qed.
Lemma selection_lengths : forall alphas, selection inputs alphas <-> Forall2 lt alphas (map (@length (list Z)) K).
Proof.
  unfold selection. intros alphas. revert K. clear.
  induction alphas as [|a alphas IH]; intros [|k K]; simpl; split; intros H; try (now inversion H); try constructor;
    inversion H as [|? ? ? ? Ha Hr]; subst.
  - unfold mat in Ha. now rewrite map_length in Ha.
  - now apply IH.
  - unfold mat. now rewrite map_length.
  - now apply IH.
Qed.

Lemma rows_ones : forall alphas, selection_rows alphas inputs = mat kd (selectionZ alphas K) /\
  ones (selection_rows alphas inputs) = vec 1 (onesZ (selectionZ alphas K)).
Proof. intros. rewrite selection_mat. split; auto. apply ones_mat. Qed.

Lemma solved_sound : forall alphas w, solved alphas w = true ->
  max_margin n inputs alphas (vec (denominator w) (pointZ alphas w)).
Proof.
  unfold solved, max_margin. intros alphas w H. destruct (rows_ones alphas) as [-> ->].
  apply andb_prop in H. destruct H as [H Hf]. apply andb_prop in H. destruct H as [Hp Hk].
  apply least_point_more with (rowsZ (full alphas (fst w)) K).
  - apply rows_of_selection; auto. apply covers_full.
  - eapply kkt_sound. exact Hk.
  - apply feasible_ones. rewrite Forall_forall. rewrite forallb_forall in Hf. intros z Hz.
    apply Hf, Z.leb_le, slack_ge in Hz. exact Hz.
Qed.
Lemma contradicts_sound : forall c alphas, contradicts c = true -> covers c alphas = true ->
  forall q, ~ separates inputs alphas q.
Proof.
  unfold contradicts, separates. intros c alphas H Hc q. destruct (rows_ones alphas) as [-> ->].
  apply andb_prop in H. destruct H as [Hp H]. intros Hf.
  apply (feasible_fewer kd (rowsZ c K)) in Hf; [|now apply rows_of_selection].
  revert Hf. now apply (farkas_sound n kd 1 _ (weightsZ c)).
Qed.
Lemma not_separated : forall alphas, (forall q, ~ separates inputs alphas q) -> ~ locally_optimal n inputs scores alphas.
Proof. intros alphas H [_ [p [[_ [Hf _]] _]]]. exact (H p Hf). Qed.

Hypothesis scoredZ : map (@length (list Z)) K = map (@length Z) G.

Lemma not_better : forall alphas w i t, solved alphas w = true ->
  neighbour inputs alphas (vec (denominator w) (pointZ alphas w)) i t ->
  score scores i (nth i alphas O) <= score scores i t -> ~ locally_optimal n inputs scores alphas.
Proof.
  intros alphas w i t Hs Hn Hg [_ [p [Hp Hb]]]. apply solved_sound in Hs.
  rewrite <- (least_point_unique _ _ _ _ _ Hp Hs) in Hb. specialize (Hb _ _ Hn). lra.
Qed.
Theorem decided : forall alphas w, selection inputs alphas -> solved alphas w = true ->
  (locally_optimal n inputs scores alphas <-> better alphas w = true).
Proof.
  intros alphas w Hv Hs. split.
  - intros Ho. destruct (better alphas w) eqn:Hb; auto. exfalso. revert Ho.
    destruct (worse_false _ _ _ _ _ _ scoredZ Hb) as [i [t [Hi [Ht [Htight Hg]]]]].
    apply not_better with (w := w) (i := i) (t := t); auto.
    + apply neighbour_tight. auto.
    + rewrite !score_mat. now apply ratio_le.
  - intros Hb. split; auto. exists (vec (denominator w) (pointZ alphas w)). split. now apply solved_sound.
    intros i t Hn. rewrite !score_mat. apply ratio_lt. apply neighbour_tight in Hn. destruct Hn as [Hi [Ht Htight]].
    apply worse_true with (kd := kd) (dp := denominator w) (P := pointZ alphas w) (K := K); auto.
    now apply selection_length.
Qed.

(** * What certificates assert *)

Fixpoint all2 {A B : Type} (f : A -> B -> bool) (xs : list A) (ys : list B) : bool :=
  match xs, ys with [], [] => true | x :: xs', y :: ys' => f x y && all2 f xs' ys' | _, _ => false end.

Theorem accepted_sound : forall listed proofs,
  all2 (fun a w => validZ a && solved a w && better a w) listed proofs = true ->
  Forall (locally_optimal n inputs scores) listed.
Proof.
  induction listed as [|a listed IH]; intros [|w proofs] H; simpl in *; try discriminate; constructor.
  - apply andb_prop in H. destruct H as [H _]. apply andb_prop in H. destruct H as [H Hb].
    apply andb_prop in H. destruct H as [Hv Hs]. apply (decided a w); auto. now apply validZ_correct.
  - apply andb_prop in H. destruct H as [_ H]. eauto.
Qed.

Definition refuses (alphas : list nat) (because : option (nat * nat)) (w : proof) : bool :=
  validZ alphas &&
  match because with
  | None => contradicts (full alphas (fst w))
  | Some (i, t) =>
      solved alphas w && Nat.ltb i (length K) && Nat.ltb t (length (nth i K [])) &&
      tight kd (denominator w) (pointZ alphas w) (nth (nth i alphas O) (nth i K []) []) (nth t (nth i K []) []) &&
      (nth (nth i alphas O) (nth i G []) 0 <=? nth t (nth i G []) 0)%Z
  end.
Lemma refuses_sound : forall alphas because w,
  refuses alphas because w = true -> not_locally_optimal n inputs scores alphas because.
Proof.
  unfold refuses, not_locally_optimal. intros alphas [[i t]|] w H; apply andb_prop in H; destruct H as [Hv H];
    (split; [now apply validZ_correct|]).
  - apply andb_prop in H. destruct H as [H Hg]. apply andb_prop in H. destruct H as [H Htight].
    apply andb_prop in H. destruct H as [H Ht]. apply andb_prop in H. destruct H as [Hs Hi].
    apply Nat.ltb_lt in Hi, Ht. apply Z.leb_le, (ratio_le _ _ gd) in Hg. rewrite <- !score_mat in Hg.
    assert (Hn : neighbour inputs alphas (vec (denominator w) (pointZ alphas w)) i t) by (apply neighbour_tight; auto).
    split. now apply not_better with w i t. exists (vec (denominator w) (pointZ alphas w)).
    split; auto. now apply solved_sound.
  - assert (Hq : forall q, ~ separates inputs alphas q)
      by (apply contradicts_sound with (full alphas (fst w)); auto; apply covers_full).
    split; auto. now apply not_separated.
Qed.
Theorem refused_sound : forall listed reasons proofs,
  all2 (fun ab w => refuses (fst ab) (snd ab) w) (combine listed reasons) proofs &&
  Nat.eqb (length listed) (length reasons) = true ->
  Forall2 (not_locally_optimal n inputs scores) listed reasons.
Proof.
  induction listed as [|a listed IH]; intros [|b reasons] proofs H; simpl in *; try (rewrite andb_false_r in H);
    try discriminate; constructor; destruct proofs as [|w proofs]; try discriminate.
  - apply andb_prop in H. destruct H as [H _]. apply andb_prop in H. destruct H as [H _].
    now apply refuses_sound with w.
  - apply andb_prop in H. destruct H as [H Hl]. apply andb_prop in H. destruct H as [_ H].
    apply IH with proofs. now rewrite H, Hl.
Qed.

Definition found (lengths : list nat) (cuts : list combo) (proofs : list proof) : list (list nat) :=
  map fst (filter (fun aw => better (fst aw) (snd aw)) (combine (uncut lengths cuts) proofs)).
Definition same (xs ys : list (list nat)) : bool :=
  if list_eq_dec (list_eq_dec Nat.eq_dec) xs ys then true else false.
Definition enumerated (lengths : list nat) (cuts : list combo) (proofs : list proof) (listed : list (list nat)) : bool :=
  forallb contradicts cuts && all2 solved (uncut lengths cuts) proofs && same (found lengths cuts proofs) listed.

Lemma all2_combine : forall (A B : Type) (f : A -> B -> bool) xs ys, all2 f xs ys = true ->
  (forall x, In x xs -> exists y, In (x, y) (combine xs ys)) /\ forall x y, In (x, y) (combine xs ys) -> f x y = true.
Proof.
  intros A B f. induction xs as [|x xs IH]; intros [|y ys] H; simpl in *; try discriminate.
  - split; [intros ? []|intros ? ? []].
  - apply andb_prop in H. destruct H as [Hf H]. destruct (IH _ H) as [H1 H2]. split.
    + intros x' [->|Hin]. exists y; auto. destruct (H1 _ Hin) as [y' Hy]. exists y'. auto.
    + intros x' y' [He|Hin]. injection He as <- <-. exact Hf. auto.
Qed.
Theorem enumerated_sound : forall cuts proofs listed,
  enumerated (map (@length (list Z)) K) cuts proofs listed = true ->
  forall alphas, locally_optimal n inputs scores alphas <-> In alphas listed.
Proof.
  unfold enumerated, same. intros cuts proofs listed H. apply andb_prop in H. destruct H as [H Hf].
  apply andb_prop in H. destruct H as [Hc Hs].
  destruct (list_eq_dec _ _ listed) as [<-|]; try discriminate. clear Hf.
  destruct (all2_combine _ _ _ _ _ Hs) as [Hex Hsolved]. unfold found. intros alphas. split.
  - intros Ho. assert (Hv : selection inputs alphas) by (now destruct Ho).
    destruct (uncut_or_covered _ cuts alphas (proj1 (selection_lengths alphas) Hv)) as [Hin|[c [Hin Hcov]]].
    + destruct (Hex _ Hin) as [w Hw]. apply in_map_iff. exists (alphas, w). split; auto.
      apply filter_In. split; auto. simpl. apply (decided alphas w); auto.
    + exfalso. rewrite forallb_forall in Hc. revert Ho. apply not_separated.
      apply contradicts_sound with c; auto.
  - intros Hin. apply in_map_iff in Hin. destruct Hin as [[a w] [He Hin]]. simpl in He. subst a.
    apply filter_In in Hin. destruct Hin as [Hin Hb]. simpl in Hb. apply (decided alphas w); auto.
    apply selection_lengths. apply uncut_selects with cuts. now apply in_combine_l in Hin.
Qed.
End Selections.

(** * The best tokens, scores from labels, shapes *)

Definition bestZ (listed : list nat) (g : list Z) : bool :=
  forallb (fun t => Nat.ltb t (length g)) listed &&
  forallb (fun t => Bool.eqb (existsb (Nat.eqb t) listed) (forallb (fun s => s <=? nth t g 0)%Z g)) (seq 0 (length g)).
Lemma best_sound : forall d listed g, bestZ listed g = true -> best_tokens listed (vec d g).
Proof.
  unfold bestZ, best_tokens. intros d listed g H t. apply andb_prop in H. destruct H as [Hl H].
  rewrite forallb_forall in Hl, H. rewrite length_vec, nth_vec.
  assert (Hin : existsb (Nat.eqb t) listed = true <-> In t listed).
  { rewrite existsb_exists. split. intros [u [Hu He]]. apply Nat.eqb_eq in He. now subst. exists t. now rewrite Nat.eqb_refl. }
  assert (Hle : forallb (fun s => s <=? nth t g 0)%Z g = true <-> Forall (fun s => s <= ratio (nth t g 0%Z) d) (vec d g)).
  { rewrite forallb_forall. unfold vec. rewrite Forall_map, Forall_forall. split; intros Hs s Hins; specialize (Hs s Hins).
    - apply Z.leb_le in Hs. now apply ratio_le.
    - apply Z.leb_le. apply Z.nlt_ge. intros Hlt. apply (ratio_lt _ _ d) in Hlt. unfold ratio in *. lra. }
  rewrite <- Hle, <- Hin. split.
  - intros Ht. assert (Hlt : (t < length g)%nat) by (apply Nat.ltb_lt, Hl, Hin, Ht). split; auto.
    specialize (H t). rewrite Ht in H. symmetry. apply Bool.eqb_prop, H, in_seq. lia.
  - intros [Hlt Hs]. specialize (H t). rewrite Hs in H. apply Bool.eqb_prop, H, in_seq. lia.
Qed.
Theorem optimal_sound : forall d listed G, all2 bestZ listed G = true -> Forall2 best_tokens listed (map (vec d) G).
Proof.
  intros d. induction listed as [|l listed IH]; intros [|g G] H; simpl in *; try discriminate; constructor;
    apply andb_prop in H; destruct H; auto. now apply best_sound.
Qed.

Fixpoint label_scoresZ (labels v : list Z) (X : list (list (list Z))) : list (list Z) :=
  match labels, X with
  | y :: labels', x :: X' => map (fun t => (y * dotZ v t)%Z) x :: label_scoresZ labels' v X'
  | _, _ => []
  end.
Lemma label_scores_mat : forall labels dv v dx X,
  label_scores (vec 1 labels) (vec dv v) (map (mat dx) X) = map (vec (dv * dx)) (label_scoresZ labels v X).
Proof.
  induction labels as [|y labels IH]; intros dv v dx [|x X]; simpl; auto. f_equal. 2: apply IH.
  unfold mat, vec at 3. rewrite !map_map. apply map_ext. intros t. rewrite dot_vec. unfold ratio. rewrite mult_IZR.
  field. apply den_neq_0.
Qed.

Definition sizes (lengths : list nat) (K : list (list (list Z))) (G : list (list Z)) : bool :=
  if list_eq_dec Nat.eq_dec (map (@length (list Z)) K) lengths then
    if list_eq_dec Nat.eq_dec (map (@length Z) G) lengths then true else false
  else false.
Lemma sizes_correct : forall lengths K G, sizes lengths K G = true ->
  map (@length (list Z)) K = lengths /\ map (@length Z) G = lengths.
Proof.
  unfold sizes. intros lengths K G H. destruct (list_eq_dec _ _ lengths); try discriminate.
  destruct (list_eq_dec _ _ lengths); try discriminate. auto.
Qed.
Lemma sizes_paired : forall lengths K G, sizes lengths K G = true -> map (@length (list Z)) K = map (@length Z) G.
Proof. intros lengths K G H. apply sizes_correct in H. destruct H. congruence. Qed.
Theorem scored_sound : forall n lengths kd gd K G, sizes lengths K G && wideZ n K = true ->
  scored n lengths (map (mat kd) K) (map (vec gd) G).
Proof.
  intros n lengths kd gd K G H. apply andb_prop in H. destruct H as [H Hw]. apply sizes_correct in H.
  destruct H as [HK HG]. split; [|split]; try now apply wide_mat.
  - rewrite <- HK, map_map. apply map_ext. intros. unfold mat. apply map_length.
  - rewrite <- HG, map_map. apply map_ext. intros. apply length_vec.
Qed.
