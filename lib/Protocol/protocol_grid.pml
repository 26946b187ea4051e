/* ---- Several workers, reduced to takes and gives of turns, on an order ("order.pml"), with -DGRID
   (lib/Protocol/protocol_grid.pml). RESIDENT blocks run at a time. Any waiting block may start next,
   when the worker of another block has ended. A block runs the worker whose ticket it draws when it
   starts; with -DOWN_INDEX, the worker of its own index. ---- */

#include "order.pml"

#define ALL_GIVEN 255 /* behind a chain's last turn: -1 in the kernel */
byte next[WORKERS * WARPS], counter[TILES], sums[TILES];
bit holds[WORKERS * WARPS];
bit started[WORKERS];
byte begun, ended, running[WORKERS], ticket, launch;
hidden byte k;
hidden byte turn_given_out_of_order, chain_incomplete, last_turn_not_marked, index_drawn_twice, tickets_not_reset;
#define AT(v) (WARPS * worker + (v))
#define RUNS (mine == launch && started[worker])
#define STEP (first_step[worker] + next[AT(w)])

inline start() {
  begun = 0;
  ended = 0;
  k = 0;
  do
  :: k < WORKERS * WARPS -> next[k] = k % WARPS; k++
  :: else -> break
  od;
  k = 0;
  do
  :: k < WORKERS -> running[k] = WARPS; started[k] = 0; k++
  :: else -> break
  od
}

proctype block(byte own) {
  byte mine, worker;
  do
  :: d_step {
      mine == launch && launch < LAUNCHES && begun < RESIDENT + ended ->
      begun++;
      mine++
    };
    d_step {
#ifdef OWN_INDEX
      worker = own;
#else
      worker = ticket;
      ticket = (ticket == WORKERS - 1 -> 0 : ticket + 1);
#endif
      assert(!started[worker] || index_drawn_twice);
      started[worker] = 1;
      worker = 0
    }
  :: mine == LAUNCHES -> break
  od
}

proctype warp(byte worker; byte w) {
  byte mine;
  do
  :: d_step {
      RUNS && next[AT(w)] < num_steps[worker] && !holds[AT(w)] &&
      counter[tile_of[STEP]] == turn_of[STEP] ->
      holds[AT(w)] = 1
    }
  :: d_step {
      holds[AT(w)] && EACH_WARP(MAY_GIVE) ->
      k = tile_of[STEP];
      assert(sums[k] == turn_of[STEP] || turn_given_out_of_order);
      sums[k]++;
      counter[k] = (sums[k] == length_of[k] -> ALL_GIVEN : counter[k] + 1);
      holds[AT(w)] = 0;
      next[AT(w)] = next[AT(w)] + WARPS
    }
  :: d_step {
      RUNS && next[AT(w)] >= num_steps[worker] && !holds[AT(w)] ->
      mine++;
      running[worker]--;
      ended = ended + (running[worker] == 0)
    }
  :: mine == LAUNCHES -> break
  od
}

/* After a launch, all chains are complete and marked so, and tickets are as before. The entry before
   the next launch begins the counters anew. */
proctype launches() {
  do
  :: d_step {
      ended == WORKERS ->
      k = 0;
      do
      :: k < TILES ->
        assert(sums[k] == length_of[k] || chain_incomplete);
        assert(counter[k] == ALL_GIVEN || last_turn_not_marked);
        counter[k] = 0;
        sums[k] = 0;
        k++
      :: else -> break
      od;
      assert(ticket == 0 || tickets_not_reset);
      start();
      launch++
    }
  :: launch == LAUNCHES -> break
  od
}

init {
  byte worker, w;
  atomic {
    read_order();
    start();
    do
    :: worker < WORKERS ->
      run block(worker);
      w = 0;
      do
      :: w < WARPS -> run warp(worker, w); w++
      :: else -> break
      od;
      worker++
    :: else -> break
    od;
    run launches()
  }
}
