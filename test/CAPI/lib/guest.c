/* Has of a process all that is one's own, and asks the library for everything: compiles, chooses,
 * plans, assembles, launches.
 *
 *   capi-guest PROGRAM DRIVER PTXAS  says what changed, call by call; "as it was" where nothing did
 */
#define _GNU_SOURCE
#include "dash-c/Planner.h"
#include "files.h"
#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { capacity = 1 << 16, farAway = 100000 };

typedef struct State {
  size_t length;
  char text[capacity];
} State;

#define WRITE(state, ...)                                                                          \
  ((state)->length +=                                                                              \
   snprintf((state)->text + (state)->length, capacity - (state)->length, __VA_ARGS__))

static void ours(int signal) { (void)signal; }

/* The numbers of a folder of /proc, such as those of open files. */
static void list(State *state, const char *what, const char *path) {
  int count = 0;
  DIR *folder = opendir(path);
  while (folder && readdir(folder))
    ++count;
  if (folder)
    closedir(folder);
  WRITE(state, "%s: %d\n", what, count);
}

static void look(State *state) {
  state->length = 0;
  /* Timers go on meanwhile: they are far away, or not there any more. */
  for (int which = ITIMER_REAL; which <= ITIMER_PROF; ++which) {
    struct itimerval timer;
    getitimer(which, &timer);
    WRITE(state, "timer %d: %s, again %ld\n", which,
          timer.it_value.tv_sec > farAway / 2 ? "there" : "gone", (long)timer.it_interval.tv_sec);
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (!sigaction(signal, NULL, &action))
      WRITE(state, "signal %d: %s, flags %x, blocks %d\n", signal,
            action.sa_handler == ours      ? "ours"
            : action.sa_handler == SIG_DFL ? "default"
            : action.sa_handler == SIG_IGN ? "ignored"
                                           : "another's",
            (unsigned)action.sa_flags, sigismember(&action.sa_mask, SIGUSR1));
  }
  sigset_t mask, pending;
  stack_t stack;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  sigpending(&pending);
  sigaltstack(NULL, &stack);
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&mask, signal) > 0 || sigismember(&pending, signal) > 0)
      WRITE(state, "blocked or pending: %d\n", signal);
  WRITE(state, "signals' stack: %p %zu\n", stack.ss_sp, stack.ss_size);
  mode_t bits = umask(0);
  umask(bits);
  WRITE(state, "umask: %o\n", (unsigned)bits);
  char folder[4096];
  WRITE(state, "folder: %s\n", getcwd(folder, sizeof(folder)));
  for (char **variable = environ; *variable; ++variable)
    WRITE(state, "environment: %s\n", *variable);
  WRITE(state, "locale: %s %s\n", setlocale(LC_ALL, NULL), localeconv()->decimal_point);
  WRITE(state, "rounding: %d, traps: %d\n", fegetround(), fegetexcept());
  for (int which = 0; which < RLIM_NLIMITS; ++which) {
    struct rlimit limit;
    getrlimit(which, &limit);
    WRITE(state, "limit %d: %lu %lu\n", which, (unsigned long)limit.rlim_cur,
          (unsigned long)limit.rlim_max);
  }
  WRITE(state, "priority: %d\n", getpriority(PRIO_PROCESS, 0));
  char name[16];
  pthread_getname_np(pthread_self(), name, sizeof(name));
  WRITE(state, "name: %s\n", name);
  list(state, "threads", "/proc/self/task");
  list(state, "open files", "/proc/self/fd");
  WRITE(state, "children: %s\n",
        waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? "none" : "some");
}

static State before, after;
static int differences;

static void compare(const char *what, DashStatus status) {
  if (status != DASH_SUCCESS)
    printf("%s: %s\n", what, dashGetStatusName(status));
  look(&after);
  char *one = before.text, *other = after.text;
  while (*one && *other) {
    char *end = strchr(one, '\n'), *otherEnd = strchr(other, '\n');
    *end = *otherEnd = 0;
    if (strcmp(one, other)) {
      printf("%s: before %s; after %s\n", what, one, other);
      ++differences;
    }
    one = end + 1;
    other = otherEnd + 1;
  }
  if (*one || *other) {
    printf("%s: there is more or less than before\n", what);
    ++differences;
  }
  look(&before); /* each change is said once */
}

static void print(const DashDiagnostic *diagnostic, void *userData) {
  (void)userData;
  printf("said: %s\n", diagnostic->message.data);
}

static void takeTheProcess(void) {
  struct sigaction action = {.sa_handler = ours, .sa_flags = SA_RESTART};
  sigaddset(&action.sa_mask, SIGUSR1);
  for (int signal = 1; signal < NSIG; ++signal)
    if (signal != SIGCHLD)
      sigaction(signal, &action, NULL);
  struct itimerval timer = {{farAway, 0}, {farAway, 0}}; /* alarm() is the first of them */
  for (int which = ITIMER_REAL; which <= ITIMER_PROF; ++which)
    setitimer(which, &timer, NULL);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &mask, NULL);
  umask(027);
  setlocale(LC_ALL, "");
  setenv("LC_NUMERIC", "as it is", 1);
  pthread_setname_np(pthread_self(), "application");
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  DashStringRef program = readFile(argv[1]);
  setenv("DASH_PTXAS", argv[3], 1);
  takeTheProcess();
  look(&before);
  compare("nothing", DASH_SUCCESS);

  DashProgram compiled = {NULL}, refused = {NULL};
  compare(
      "compile",
      dashCompile(
          program, ref("here"),
          ref("kind=synthesized workers=4 parts=1 sizes=q:256,kv:256,batch:1,heads:2,kv-heads:2"),
          print, NULL, &compiled));
  dashCompile(ref("no program"), ref("here"), ref(""), NULL, NULL, &refused);
  compare("compile what is refused", DASH_SUCCESS);
  DashPlanner planner = {NULL};
  compare("make a planner", dashPlannerCreate(print, NULL, &planner));
  DashSize sizes[] = {{ref("batch"), 1},
                      {ref("heads"), 2},
                      {ref("kv_heads"), 2},
                      {ref("q_rows"), 1024},
                      {ref("kv_rows"), 1024}};
  DashStringRef manifest = dashProgramGetManifest(compiled, 0);
  DashChoice choice;
  compare("choose", dashPlannerChoose(planner, manifest, sizes, 5, 0, print, NULL, &choice));
  DashOrder order = {NULL};
  compare("plan an order", dashPlannerPlan(planner, manifest, sizes, 5, print, NULL, &order));
  DashDriver driver = {NULL};
  compare("open a driver", dashDriverOpen(ref(argv[2]), print, NULL, &driver));
  DashKernel kernel = {NULL};
  compare("make a kernel",
          dashKernelCreate(driver, dashOrderGetManifest(order), dashProgramGetPtx(compiled, 0),
                           dashOrderGetBytes(order), print, NULL, &kernel));
  DashPlan plan = {NULL};
  compare("assemble and load", dashPlanCreate(kernel, 0, sizes, 5, print, NULL, &plan));
  dashPlanDestroy(plan);
  dashKernelDestroy(kernel);
  dashDriverDestroy(driver);
  dashOrderDestroy(order);
  dashPlannerDestroy(planner);
  dashProgramDestroy(compiled);
  compare("give all back", DASH_SUCCESS);
  if (!differences)
    printf("as it was\n");
  return 0;
}
