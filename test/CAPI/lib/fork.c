/* Forks while other threads are in the library, and while none is: the child works, or is told
 * that it cannot.
 *
 *   capi-fork PROGRAM MANIFEST
 */
#include "dash-c/Planner.h"
#include "files.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { mostSeconds = 120, numForks = 20 };

static DashStringRef program, manifest;
static DashPlanner planner;
static atomic_int isInside, isDone;

static DashSize sizes[] = {{{"batch", 5}, 1},
                           {{"heads", 5}, 4},
                           {{"kv_heads", 8}, 2},
                           {{"q_rows", 6}, 1100},
                           {{"kv_rows", 7}, 1100}};

static void print(const DashDiagnostic *diagnostic, void *userData) {
  (void)userData;
  printf("said: %s\n", diagnostic->message.data);
}

/* A handler is called inside of the library. */
static void stay(const DashDiagnostic *diagnostic, void *userData) {
  (void)diagnostic, (void)userData;
  isInside = 1;
  while (!isDone)
    usleep(1000);
}

static void *compileWhatIsRefused(void *unused) {
  DashProgram refused = {NULL};
  dashCompile(ref("no program"), ref("here"), ref(""), stay, NULL, &refused);
  return unused;
}

static void *planAlways(void *unused) {
  for (int i = 0; !isDone; ++i) {
    DashOrder order = {NULL};
    sizes[3].value = sizes[4].value = 1000 + 64 * (i % 100);
    dashPlannerPlan(planner, manifest, sizes, 5, NULL, NULL, &order);
    dashOrderDestroy(order);
    isInside = 1;
  }
  return unused;
}

/* All that takes locks. */
static DashStatus useAll(DashDiagnosticHandler handler) {
  DashProgram compiled = {NULL};
  DashOrder order = {NULL};
  DashChoice choice;
  DashKernel kernel = {NULL}, none = {NULL};
  DashPlan plan = {NULL};
  DashSize ours[] = {{{"batch", 5}, 1},
                     {{"heads", 5}, 2},
                     {{"kv_heads", 8}, 2},
                     {{"q_rows", 6}, 512},
                     {{"kv_rows", 7}, 512}};
  DashStatus statuses[] = {
      dashCompile(program, ref("here"), ref("kind=shift workers=4"), handler, NULL, &compiled),
      dashPlannerPlan(planner, manifest, ours, 5, handler, NULL, &order),
      dashPlannerChoose(planner, manifest, ours, 5, 0, handler, NULL, &choice),
      dashKernelCreate((DashDriver){NULL}, dashProgramGetManifest(compiled, 0),
                       dashProgramGetPtx(compiled, 0), ref(""), handler, NULL, &kernel),
      dashPlanCreate(kernel.ptr ? kernel : (DashKernel){&none}, 0, ours, 5, handler, NULL, &plan)};
  for (size_t i = 1; i < sizeof(statuses) / sizeof(*statuses); ++i)
    if (statuses[i] != statuses[0]) {
      printf("call %zu: %s after %s\n", i, dashGetStatusName(statuses[i]),
             dashGetStatusName(statuses[0]));
      return DASH_DRIVER_ERROR;
    }
  return statuses[0];
}

/* The status that a child found, or -1 where it hung or crashed. */
static int inChild(DashDiagnosticHandler handler) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(mostSeconds);
    DashStatus status = useAll(handler);
    fflush(stdout);
    _exit(status);
  }
  int ended;
  waitpid(child, &ended, 0);
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

static void forkInHandler(const DashDiagnostic *diagnostic, void *userData) {
  (void)diagnostic;
  *(int *)userData = inChild(print);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  program = readFile(argv[1]);
  manifest = readFile(argv[2]);
  dashPlannerCreate(print, NULL, &planner);
  printf("no thread is inside: %s\n", dashGetStatusName(inChild(print)));

  pthread_t thread;
  pthread_create(&thread, NULL, compileWhatIsRefused, NULL);
  while (!isInside)
    usleep(1000);
  printf("a thread is inside: %s\n", dashGetStatusName(inChild(print)));
  isDone = 1;
  pthread_join(thread, NULL);
  printf("no thread is any more: %s\n", dashGetStatusName(inChild(print)));

  int status = -1;
  DashProgram refused = {NULL};
  dashCompile(ref("no program"), ref("here"), ref(""), forkInHandler, &status, &refused);
  printf("a handler forks: %s\n", dashGetStatusName(status));

  int found[2] = {0, 0};
  isInside = isDone = 0;
  pthread_create(&thread, NULL, planAlways, NULL);
  while (!isInside)
    usleep(1000);
  for (int i = 0; i < numForks; ++i) {
    status = inChild(NULL);
    if (status == DASH_SUCCESS || status == DASH_UNUSABLE)
      ++found[status != DASH_SUCCESS];
  }
  isDone = 1;
  pthread_join(thread, NULL);
  printf("while a thread plans: %s\n", found[0] + found[1] == numForks ? "all end" : "some hang");
  return 0;
}
