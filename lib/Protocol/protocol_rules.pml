/* ---- One worker: what ops do to barriers, slots and turns (lib/Protocol/protocol_rules.pml). ---- */

#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef STEPS
#define STEPS 4
#endif

/* An assertion is named after the mistake that it finds: these are always 0. */
hidden byte more_arrivals_than_expected, read_before_full, overwritten_before_empty, copied_twice_at_once, negative_use,
  read_outside_of_list, turn_of_another_step, add_without_its_turn, store_over_sums_or_add_to_none, add_before_sums,
  turn_given_before_sums, turn_given_untaken, tensor_core_given_twice, stuck_before_its_turn, stuck_in_its_turn, turn_is_over,
  unlike_reduced_worker, ends_under_way, slot_not_empty_at_end, tensor_core_never_taken, chain_incomplete, last_turn_not_marked;

#ifndef SEQUENCES
#define SEQUENCES 1
#endif

/* A list: items of one sequence, then those of the next. An even number of steps is walked in two
   rounds, one head each. After its steps, an item with several parts adds PIECES pieces to each of
   SUMS sums of its kv tile; items 2i and 2i + 1 are the parts of tile i. */
byte steps[ITEMS], total;
#define ROUNDS(i) ((steps[i] > 0 && steps[i] % 2 == 0) -> 2 : 1)
#define VISITS(i) (steps[i] / ROUNDS(i))
#define USES(i) (steps[i] + SUMS * PIECES)
#define SEQUENCE(i) ((i) * SEQUENCES / ITEMS)
#define KV_TILE(i) (SUMS > 0 -> (i) / 2 : (i))

/* Tiles of sums: those of dQ (sum 0) by sequence, head and q tile, and those of parts by sequence
   and piece. Turns before the worker's first, and after its last, may or may not exist; between two
   of its own, there always is one. */
#define OF_SEQUENCE (2 * STEPS)
#define KV_TILES ((ITEMS + 1) / 2)
#define OF_STEPS (SEQUENCES * OF_SEQUENCE)
#define TILES (OF_STEPS + SUMS * SEQUENCES * KV_TILES * PIECES)
#define TILE(sum, sequence, head, tile) ((sum) == 0 -> (sequence) * OF_SEQUENCE + (head) * STEPS + (tile) : \
  OF_STEPS + (((sum) - 1) * SEQUENCES + (sequence)) * KV_TILES * PIECES + (tile))
#define HEAD_OF(t) ((t) / STEPS % 2)
#define Q_OF(t) ((t) % STEPS)
#define KV_OF(t) (((t) - OF_STEPS) / PIECES % KV_TILES)
#define BEFORE(t) (((t) < OF_STEPS -> Q_OF(t) : KV_OF(t)) & 1)
#define BEHIND(t) (((t) < OF_STEPS -> (Q_OF(t) >> 1) ^ HEAD_OF(t) : KV_OF(t)) & 1)

/* Barrier 2s is for full of slot s, barrier 2s + 1 for empty. */
bit parity[2 * SLOTS];
byte pending[2 * SLOTS];
int bytes[2 * SLOTS];
int flying[SLOTS];    /* bytes of copies in flight */
byte cell[CELLS];     /* 0, or 1 + the use that was written */
byte reading[CELLS];  /* products and copies in flight */
hidden byte arrivals[2 * SLOTS];
#define OUTPUT 64     /* + a use: results on their way out */
#define COPYING 128   /* + a use: its copy is in flight */

bit given[WARPGROUPS]; /* the tensor core */

#define ALL_GIVEN 255 /* behind a chain's last turn: -1 in the kernel */
byte counter[TILES];
byte landed[TILES];  /* contributions in memory */
byte finished;
hidden byte k, i, h, q, n, place, x, y, found_sum, found_turn;
hidden byte found_end, found_last;

inline settle(b) {
  if
  :: pending[b] == 0 && bytes[b] == 0 -> parity[b] = 1 - parity[b]; pending[b] = arrivals[b]
  :: else
  fi
}
inline arrive(b, number) {
  assert(pending[b] >= number || more_arrivals_than_expected);
  pending[b] = pending[b] - number;
  settle(b)
}
inline expect(b, number) {
  bytes[b] = bytes[b] + number;
  arrive(b, 1)
}

/* Copies of a slot land together: a reader that does not wait would miss either of them. */
inline copy(s, number, first, count, use) {
  put(first, count, use);
  k = first;
  do
  :: k < first + count -> cell[k] = COPYING + use + 1; k++
  :: else -> break
  od;
  flying[s] = flying[s] + number
}
inline land(s, first, count) {
  k = first;
  do
  :: k < first + count ->
    if
    :: cell[k] >= COPYING -> cell[k] = cell[k] - COPYING
    :: else
    fi;
    k++
  :: else -> break
  od;
  bytes[2 * (s)] = bytes[2 * (s)] - flying[s];
  flying[s] = 0;
  settle(2 * (s))
}

/* A slot that was never used is empty: the phase before the first counts as complete. Only a process
   that waits for a copy sees that it has landed, so it lands then; with -DLANDING at any time. */
#define EMPTY(s, phase) (parity[2 * (s) + 1] == (phase))
#ifdef LANDING
#define FULL(s, phase) (parity[2 * (s)] != (phase))
#else
#define FULL(s, phase) (parity[2 * (s)] != (phase) || (flying[s] > 0 && pending[2 * (s)] == 0 && bytes[2 * (s)] == flying[s]))
#endif
inline see(s, phase, first, count) {
  if
  :: parity[2 * (s)] == phase -> land(s, first, count)
  :: else
  fi
}

inline put(first, count, use) {
  assert((use) >= 0 || negative_use);
  k = first;
  do
  :: k < first + count ->
    assert(reading[k] == 0 || overwritten_before_empty);
    assert(cell[k] < COPYING || copied_twice_at_once);
    cell[k] = use + 1;
    k++
  :: else -> break
  od
}
inline get(first, count, expected) {
  k = first;
  do
  :: k < first + count ->
    assert((cell[k] >= expected && cell[k] != COPYING + expected) || read_before_full);
    assert(cell[k] <= expected || overwritten_before_empty);
    k++
  :: else -> break
  od
}
inline begin(queue, first, count, expected) {
  get(first, count, expected);
  k = first;
  do
  :: k < first + count -> reading[k]++; k++
  :: else -> break
  od;
  queue!first,count
}
inline commit(queue, groups) {
  queue!0,0;
  groups++
}
/* Waits until at most this many groups are in flight. */
inline finish(queue, groups, most) {
  do
  :: groups > most ->
    queue?x,y;
    if
    :: y == 0 -> groups--
    :: else
    fi;
    k = x;
    do
    :: k < x + y -> reading[k]--; k++
    :: else -> break
    od
  :: else -> break
  od
}

/* Whether an item adds to a tile. */
#define ADDS(k, t) ((t) < OF_STEPS -> SEQUENCE(k) == (t) / OF_SEQUENCE && HEAD_OF(t) < ROUNDS(k) && Q_OF(t) < VISITS(k) : \
  SEQUENCE(k) == ((t) - OF_STEPS) / (KV_TILES * PIECES) % SEQUENCES && KV_TILE(k) == KV_OF(t))

/* The turn of an item at a tile, whether it is the worker's last there, and the chain's last. */
inline find_turn(item) {
  found_turn = BEFORE(place);
  found_end = 1;
  k = 0;
  do
  :: k < ITEMS ->
    if
    :: ADDS(k, place) && k < item -> found_turn = found_turn + 2
    :: ADDS(k, place) && k > item -> found_end = 0
    :: else
    fi;
    k++
  :: else -> break
  od;
  found_last = found_end && !BEHIND(place)
}
inline find_visit(item, visit, round) {
  assert((item >= 0 && item < ITEMS && round >= 0 && round < ROUNDS(item) && visit >= 0 && visit < VISITS(item)) || read_outside_of_list);
  place = TILE(0, SEQUENCE(item), round, visit);
  find_turn(item)
}
inline find_part(item) {
  assert((item >= 0 && item < ITEMS) || read_outside_of_list);
  place = TILE(1, SEQUENCE(item), 0, KV_TILE(item) * PIECES);
  find_turn(item)
}
/* Sum, head, tile and turn of a step, or of a piece after an item's steps. */
inline find_step(step) {
  i = 0;
  n = step;
  do
  :: i < ITEMS && n >= USES(i) -> n = n - USES(i); i++
  :: else -> break
  od;
  assert(i < ITEMS || read_outside_of_list);
  if
  :: n < steps[i] ->
    found_sum = 0;
    h = n / VISITS(i);
    q = n % VISITS(i)
  :: else ->
    n = n - steps[i];
    found_sum = 1 + n / PIECES;
    h = 0;
    q = KV_TILE(i) * PIECES + n % PIECES
  fi;
  place = TILE(found_sum, SEQUENCE(i), h, q);
  find_turn(i)
}
#define FOUND(sum, sequence, head, tile) (found_sum == (sum) && SEQUENCE(i) == (sequence) && h == (head) && q == (tile))

byte next[WARPS];
bit holds[WARPS];
#define AT(v) (v)

/* The turns of other workers. Only a process that waits for a turn sees it, so it is given at that
   time, or refused as long as any process can still move. A turn that is over never comes again. */
bit refused[WARPS];
#define COMES(t, turn) (counter[t] == (turn) || (counter[t] + 1 == (turn) && (counter[t] + BEFORE(t)) % 2 == 1))

inline take(w, sum, sequence, head, tile, turn) {
  find_step(next[w]);
  assert((FOUND(sum, sequence, head, tile) && found_turn == turn) || turn_of_another_step);
  assert(!holds[w] || unlike_reduced_worker);
  holds[w] = 1;
  landed[place] = landed[place] + turn - counter[place];
  counter[place] = turn
}
/* An add, or a store in a chain's first turn. Its sums land when the add is waited for: the latest
   time is the worst case. */
inline add(w, sum, sequence, head, tile, stores, queue) {
  assert(holds[w] || add_without_its_turn);
  place = TILE(sum, sequence, head, tile);
  assert((counter[place] == 0) == stores || store_over_sums_or_add_to_none);
  assert(landed[place] == counter[place] || add_before_sums);
  queue!place,1
}
inline land_sums(queue, groups, most) {
  do
  :: groups > most ->
    queue?x,y;
    if
    :: y == 0 -> groups--
    :: else -> landed[x]++
    fi
  :: else -> break
  od
}
/* Another worker's add may begin at once, and its turn after the worker's last is given at once. */
inline give(w, sum, sequence, head, tile, last) {
  assert(holds[w] || turn_given_untaken);
  assert(EACH_WARP(MAY_GIVE) || unlike_reduced_worker);
  find_step(next[w]);
  assert(FOUND(sum, sequence, head, tile) || turn_given_untaken);
  assert(found_last == last || chain_incomplete);
  assert(landed[place] == found_turn + 1 || turn_given_before_sums);
  landed[place] = landed[place] + (found_end && BEHIND(place));
  counter[place] = (found_end -> ALL_GIVEN : counter[place] + 1);
  holds[w] = 0;
  next[w] = next[w] + WARPS
}

/* No process can move: then turns are refused to processes that wait for one, and a process that
   holds one may not give it by the reduced worker. */
byte refusals;
proctype others() {
  byte w;
end:
  do
  :: timeout && refusals > 0 ->
    d_step {
      w = 0;
      do
      :: w < WARPS ->
        assert(holds[w] || refused[w] || next[w] >= total || stuck_before_its_turn);
        assert(!holds[w] || !EACH_WARP(MAY_GIVE) || stuck_in_its_turn);
        refused[w] = 0;
        w++
      :: else -> break
      od;
      w = 0;
      refusals = 0
    }
  od
}

/* The next launch finds the same state as this one. */
inline done() {
  finished++;
  if
  :: finished == PROCESSES ->
    k = 0;
    do
    :: k < SLOTS ->
      assert(flying[k] == 0 || ends_under_way);
      assert((parity[2 * k] == parity[2 * k + 1] && pending[2 * k] == arrivals[2 * k] && pending[2 * k + 1] == arrivals[2 * k + 1]) ||
             slot_not_empty_at_end);
      k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < WARPGROUPS -> assert(!given[k] || tensor_core_never_taken); k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < TILES ->
      n = 0;
      i = 0;
      do
      :: i < ITEMS -> n = n + (ADDS(i, k)); i++
      :: else -> break
      od;
      assert(!TAKES_TURNS || counter[k] == (n -> ALL_GIVEN : 0) || last_turn_not_marked);
      assert(!TAKES_TURNS || landed[k] == (n -> 2 * n - 1 + BEFORE(k) + BEHIND(k) : 0) || chain_incomplete);
      k++
    :: else -> break
    od
  :: else
  fi
}

inline begin_model() {
  k = 0;
  do
  :: k < 2 * SLOTS -> pending[k] = arrivals[k]; k++
  :: else -> break
  od;
  k = 0;
  do
  :: k < WARPS -> next[k] = k; k++
  :: else -> break
  od
}
/* ITEMS items of STEPS steps; with ANY, all lists of ITEMS items with at most STEPS steps. */
inline choose_list(item, count) {
  do
  :: item < ITEMS ->
#ifdef ANY
    select (count : 0 .. STEPS);
#else
    count = STEPS;
#endif
    steps[item] = count;
    total = total + USES(item);
    item++
  :: else -> break
  od;
  count = 0
}
