/* Launches a kernel through the C API, in C, with the driver that it is told:
 *
 *   capi-launch DRIVER BASE run      runs each problem that it reads, with its order
 *   capi-launch DRIVER BASE threads  runs two plans in four threads at once
 *   capi-launch DRIVER BASE kernels  makes, plans, runs and gives back kernels in four threads
 *   capi-launch DRIVER BASE misuse   calls with NULL and the like
 *   capi-launch DRIVER BASE damage   makes kernels of damaged strings: none may crash
 *   capi-launch DRIVER BASE bench    says how long a run with new addresses takes on the host
 *
 * BASE.json, BASE.ptx and, if there is one, BASE.order are the kernel. A problem is lines up to
 * one that says "go":
 *
 *   size NAME VALUE
 *   tensor ADDRESS ELEMENT RANK SHAPE... STRIDES...
 *   workspace ADDRESS BYTES            BYTES of 0: as many as the plan asks for; so for the order
 *   order ADDRESS BYTES
 *   scale VALUE, stream NUMBER, device NUMBER
 */
#include "dash-c/Launch.h"
#include "dash-c/Hang.h"
#include "files.h"
#include <inttypes.h>
#include <pthread.h>
#include <time.h>

enum { mostSizes = 8, mostTensors = 16 };

typedef struct Problem {
  DashSize sizes[mostSizes];
  char names[mostSizes][32];
  DashTensor tensors[mostTensors];
  DashArguments arguments;
  size_t numSizes;
  void *stream;
  int device;
} Problem;

static DashDriver driver;
static DashKernel kernel;
static DashStringRef manifest, ptx, order;

static DashStringRef readPart(const char *base, const char *ending) {
  char path[1024];
  snprintf(path, sizeof(path), "%s%s", base, ending);
  return readFile(path);
}

static void print(const DashDiagnostic *diagnostic, void *userData) {
  (void)userData;
  printf("error: %s\n", diagnostic->message.data);
}

static int say(const char *what, DashStatus status) {
  printf("%s: %s\n", what, dashGetStatusName(status));
  return status != DASH_SUCCESS;
}

static int readProblem(Problem *problem) {
  char line[1024], word[32];
  memset(problem, 0, sizeof(*problem));
  problem->arguments.tensors = problem->tensors;
  while (fgets(line, sizeof(line), stdin)) {
    int at = 0;
    sscanf(line, "%31s %n", word, &at);
    if (!strcmp(word, "go"))
      return 1;
    if (!strcmp(word, "size")) {
      DashSize *size = &problem->sizes[problem->numSizes];
      char *name = problem->names[problem->numSizes++];
      sscanf(line + at, "%31s %" SCNd64, name, &size->value);
      size->name = ref(name);
    } else if (!strcmp(word, "tensor")) {
      DashTensor *tensor = &problem->tensors[problem->arguments.numTensors++];
      int element, moved;
      sscanf(line + at, "%" SCNu64 " %d %" SCNu32 "%n", &tensor->address, &element, &tensor->rank,
             &moved);
      tensor->element = (DashElement)element;
      for (uint32_t i = 0; i < 2 * tensor->rank && i < 2 * DASH_MAX_RANK; ++i) {
        at += moved;
        sscanf(line + at, "%" SCNd64 "%n",
               i < tensor->rank ? &tensor->shape[i] : &tensor->strides[i - tensor->rank], &moved);
      }
    } else if (!strcmp(word, "workspace") || !strcmp(word, "order")) {
      DashMemory *memory =
          word[0] == 'w' ? &problem->arguments.workspace : &problem->arguments.order;
      sscanf(line + at, "%" SCNu64 " %zu", &memory->address, &memory->bytes);
    } else if (!strcmp(word, "scale")) {
      sscanf(line + at, "%f", &problem->arguments.scale);
    } else if (!strcmp(word, "stream")) {
      uint64_t stream;
      sscanf(line + at, "%" SCNu64, &stream);
      problem->stream = (void *)stream;
    } else if (!strcmp(word, "device")) {
      sscanf(line + at, "%d", &problem->device);
    }
  }
  return 0;
}

static void runProblem(Problem *problem) {
  DashPlan plan;
  if (say("plan", dashPlanCreate(kernel, problem->device, problem->sizes, problem->numSizes, print,
                                 NULL, &plan)))
    return;
  DashArguments *arguments = &problem->arguments;
  printf("workspace %zu order %zu\n", dashPlanGetWorkspaceBytes(plan), dashPlanGetOrderBytes(plan));
  if (!arguments->workspace.bytes)
    arguments->workspace.bytes = dashPlanGetWorkspaceBytes(plan);
  if (!arguments->order.bytes)
    arguments->order.bytes = dashPlanGetOrderBytes(plan);
  say("clear", dashPlanClear(plan, problem->stream, arguments->workspace, print, NULL));
  say("order", dashPlanMakeOrder(plan, problem->stream, arguments->order, print, NULL));
  say("run", dashPlanRun(plan, problem->stream, arguments, print, NULL));
  dashPlanDestroy(plan);
}

/*===- Problems of our own --------------------------------------------------------------------===*/

/* A plan of a problem with so many rows, and contiguous tensors that begin at `address`, a terabyte
 * apart. */
static DashPlan planRows(DashKernel kernel, int64_t rows, uint64_t address, Problem *problem) {
  static const int64_t values[] = {2, 4, 4};
  DashPlan plan = {NULL};
  memset(problem, 0, sizeof(*problem));
  for (size_t i = 0; i < dashKernelGetNumSizes(kernel); ++i) {
    DashStringRef name = dashKernelGetSizeName(kernel, i);
    int64_t value = strstr(name.data, "rows") ? rows : values[!strcmp(name.data, "batch") ? 0 : 1];
    problem->sizes[problem->numSizes++] = (DashSize){name, value};
  }
  if (dashPlanCreate(kernel, 0, problem->sizes, problem->numSizes, print, NULL, &plan) !=
      DASH_SUCCESS)
    return plan;
  DashArguments *arguments = &problem->arguments;
  arguments->tensors = problem->tensors;
  arguments->numTensors = dashKernelGetNumTensors(kernel);
  for (size_t i = 0; i < arguments->numTensors; ++i) {
    problem->tensors[i] = dashPlanGetTensor(plan, i);
    problem->tensors[i].address = address + ((uint64_t)i << 40);
  }
  arguments->scale = dashKernelGetDefaultScale(kernel);
  arguments->workspace = (DashMemory){(uint64_t)1 << 50, dashPlanGetWorkspaceBytes(plan)};
  arguments->order = (DashMemory){(uint64_t)1 << 51, dashPlanGetOrderBytes(plan)};
  arguments->clearsRows = 0;
  return plan;
}

static void *runThread(void *argument) {
  uint64_t number = (uint64_t)(uintptr_t)argument, failed = 0;
  Problem problem[2];
  for (int repeat = 0; repeat < 50; ++repeat) { /* the first of them load the kernel, once */
    for (int i = 0; i < 2; ++i) {
      DashPlan plan = planRows(kernel, 256 << i, (number + 1) << 20, &problem[i]);
      DashArguments *arguments = &problem[i].arguments;
      void *stream = (void *)(uintptr_t)(16 * number + i + 16);
      arguments->scale = (float)(number + 1);
      failed += dashPlanClear(plan, stream, arguments->workspace, print, NULL) != DASH_SUCCESS;
      failed += dashPlanMakeOrder(plan, stream, arguments->order, print, NULL) != DASH_SUCCESS;
      failed += dashPlanRun(plan, stream, arguments, print, NULL) != DASH_SUCCESS;
      dashPlanDestroy(plan);
    }
  }
  return (void *)(uintptr_t)failed;
}

static void *runKernels(void *argument) {
  uint64_t number = (uint64_t)(uintptr_t)argument, failed = 0;
  Problem problem;
  for (int repeat = 0; repeat < 20; ++repeat) {
    DashKernel own = {NULL};
    failed += dashKernelCreate(driver, manifest, ptx, order, print, NULL, &own) != DASH_SUCCESS;
    DashPlan plan = planRows(own, 256, (number + 1) << 20, &problem);
    dashKernelDestroy(own); /* its plan keeps it */
    failed += dashPlanRun(plan, (void *)(uintptr_t)(number + 16), &problem.arguments, print,
                          NULL) != DASH_SUCCESS;
    dashPlanDestroy(plan);
  }
  return (void *)(uintptr_t)failed;
}

static int runThreads(void *(*runThread)(void *)) {
  pthread_t threads[4];
  uintptr_t failed = 0;
  for (uintptr_t i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, runThread, (void *)i);
  for (int i = 0; i < 4; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    failed += (uintptr_t)result;
  }
  printf("4 threads, %d failed\n", (int)failed);
  return failed != 0;
}

/*===- Mistakes -------------------------------------------------------------------------------===*/

static int misuse(const char *library) {
  DashStringRef bad = {NULL, 3}, none = {NULL, 0};
  DashKernel noKernel = {NULL}, untouched = {(void *)&bad}, planned;
  DashDriver noDriver = {NULL};
  DashPlan noPlan = {NULL}, plan = {(void *)&bad};
  DashArguments nothing;
  Problem problem;
  memset(&nothing, 0, sizeof(nothing));
  nothing.numTensors = 9;
  say("no place for a driver", dashDriverOpen(ref(library), print, NULL, NULL));
  say("no name of a driver", dashDriverOpen(bad, print, NULL, &noDriver));
  say("no driver", dashDriverOpen(ref("/none/libcuda.so"), print, NULL, &noDriver));
  say("another library", dashDriverOpen(ref("libm.so.6"), print, NULL, &noDriver));
  say("no place for a kernel", dashKernelCreate(driver, manifest, ptx, order, print, NULL, NULL));
  say("no manifest", dashKernelCreate(driver, bad, ptx, order, print, NULL, &untouched));
  say("no place for a plan", dashPlanCreate(kernel, 0, NULL, 0, print, NULL, NULL));
  say("no kernel", dashPlanCreate(noKernel, 0, NULL, 0, print, NULL, &plan));
  say("no sizes", dashPlanCreate(kernel, 0, NULL, 3, print, NULL, &plan));
  say("too few sizes", dashPlanCreate(kernel, 0, NULL, 0, print, NULL, &plan));
  say("no name", dashPlanCreate(kernel, 0, &(DashSize){bad, 1}, 1, print, NULL, &plan));
  say("a strange size",
      dashPlanCreate(kernel, 0, &(DashSize){ref("pages"), 1}, 1, print, NULL, &plan));
  say("no handler", dashPlanCreate(kernel, 0, NULL, 0, NULL, NULL, &plan));
  printf("untouched: %d %d %d\n", untouched.ptr == (void *)&bad, plan.ptr == (void *)&bad,
         noDriver.ptr == NULL);
  say("no plan to run", dashPlanRun(noPlan, NULL, &nothing, print, NULL));
  say("no plan to clear", dashPlanClear(noPlan, NULL, nothing.workspace, print, NULL));
  say("no plan to order", dashPlanMakeOrder(noPlan, NULL, nothing.order, print, NULL));
  printf("of nothing: %zu %zu %zu %zu %zu %u %g\n", dashKernelGetName(noKernel).length,
         dashKernelGetCertificate(noKernel).length, dashKernelGetNumTensors(noKernel),
         dashKernelGetSizeName(kernel, 99).length, dashPlanGetWorkspaceBytes(noPlan),
         dashPlanGetTensor(noPlan, 0).rank, dashKernelGetDefaultScale(noKernel));

  plan = planRows(kernel, 256, (uint64_t)1 << 40, &problem);
  say("no arguments", dashPlanRun(plan, NULL, NULL, print, NULL));
  say("no tensors", dashPlanRun(plan, NULL, &nothing, print, NULL));
  say("a device that is not there",
      dashPlanCreate(kernel, 7, problem.sizes, problem.numSizes, print, NULL, &noPlan));
  dashPlanDestroy(plan);

  say("without a driver", dashKernelCreate(noDriver, manifest, ptx, order, print, NULL, &planned));
  say("plan", dashPlanCreate(planned, 0, problem.sizes, problem.numSizes, print, NULL, &plan));
  printf("workspace %zu\n", dashPlanGetWorkspaceBytes(plan));
  dashKernelDestroy(planned); /* its plan keeps it */
  say("run", dashPlanRun(plan, NULL, &problem.arguments, print, NULL));
  dashPlanDestroy(plan);
  say("no PTX", dashKernelCreate(driver, manifest, none, order, print, NULL, &untouched));
  int64_t sizes[8];
  DashTensor *tensors = problem.tensors;
  say("no place for an opened kernel", dashKernelOpen(driver, ref("x"), print, NULL, NULL));
  say("no path", dashKernelOpen(driver, bad, print, NULL, &untouched));
  say("an empty path", dashKernelOpen(driver, none, print, NULL, &untouched));
  say("sizes of no kernel", dashKernelFindSizes(noKernel, tensors, 9, print, NULL, sizes, 5));
  say("sizes of no tensors", dashKernelFindSizes(kernel, NULL, 9, print, NULL, sizes, 5));
  say("too few tensors", dashKernelFindSizes(kernel, tensors, 8, print, NULL, sizes, 5));
  say("too much room", dashKernelFindSizes(kernel, tensors, 9, print, NULL, sizes, 6));
  say("sizes", dashKernelFindSizes(kernel, tensors, 9, print, NULL, sizes, 5));
  printf("found %d %d\n", (int)sizes[0], (int)sizes[2]);
  tensors[1].shape[0] = -1;
  say("a negative size", dashKernelFindSizes(kernel, tensors, 9, print, NULL, sizes, 5));
  tensors[1].shape[0] = 2;
  plan = planRows(kernel, 256, (uint64_t)1 << 40, &problem);
  say("no plan to check", dashPlanCheck(noPlan, NULL, &nothing, print, NULL));
  say("nothing to check", dashPlanCheck(plan, NULL, NULL, print, NULL));
  say("check", dashPlanCheck(plan, NULL, &problem.arguments, print, NULL));
  say("no plan to run anew", dashPlanRunAnew(noPlan, NULL, &nothing, print, NULL));
  say("nothing to run anew", dashPlanRunAnew(plan, NULL, NULL, print, NULL));
  say("anew", dashPlanRunAnew(plan, NULL, &problem.arguments, print, NULL));
  int32_t isCapturing = 7;
  say("no place for an answer", dashPlanIsCapturing(plan, NULL, print, NULL, NULL));
  say("no plan to ask", dashPlanIsCapturing(noPlan, NULL, print, NULL, &isCapturing));
  printf("untouched: %d\n", isCapturing == 7);
  say("ask", dashPlanIsCapturing(plan, (void *)0xca, print, NULL, &isCapturing));
  printf("captured: %d\n", isCapturing);
  say("a step that is none", dashPlanRunStep(plan, 9, NULL, &problem.arguments, print, NULL));
  printf("of nothing: %zu %zu %zu %zu %zu %zu\n", dashPlanGetNumSteps(noPlan),
         dashPlanGetStepRole(plan, 9).length, dashPlanGetNumRegions(noPlan),
         dashPlanGetRegion(plan, 99).bytes, dashPlanGetRegion(noPlan, 0).bytes,
         dashKernelGetManifest(noKernel).length);
  DashTurns noTurns = {NULL}, look = {(void *)&bad};
  DashMemory workspace = problem.arguments.workspace, made = problem.arguments.order;
  say("no place for turns", dashPlanReadTurns(plan, workspace, made, print, NULL, NULL));
  say("turns of no plan", dashPlanReadTurns(noPlan, workspace, made, print, NULL, &look));
  say("turns of no memory", dashPlanReadTurns(plan, nothing.workspace, made, print, NULL, &look));
  say("turns of no regions", dashPlanExplainTurns(plan, NULL, 3, print, NULL, &look));
  say("turns of a region that is not there",
      dashPlanExplainTurns(plan, &bad, 1, print, NULL, &look));
  say("turns of too few regions", dashPlanExplainTurns(plan, &none, 1, print, NULL, &look));
  printf("untouched: %d\n", look.ptr == (void *)&bad);
  printf("of nothing: %d %d %d %d %zu %zu %zu\n", (int)dashTurnsGetNumGiven(noTurns),
         (int)dashTurnsGetNumTurns(noTurns), (int)dashPlanReadsRegion(plan, 99),
         (int)dashPlanReadsRegion(noPlan, 0), dashTurnsDescribe(noTurns, noTurns).length,
         dashTurnsGetJson(noTurns).length, dashTurnsGetRegion(noTurns, 0).length);
  dashTurnsDestroy(noTurns);
  dashPlanDestroy(plan);
  say("no such order",
      dashKernelCreate(driver, manifest, ptx, ref("1234"), print, NULL, &untouched));
  dashKernelDestroy(noKernel);
  dashPlanDestroy((DashPlan){NULL});
  dashDriverDestroy(noDriver);
  return 0;
}

/* Each byte of the manifest becomes another, or is the last one: a kernel or an error, and plans of
 * what is a kernel. */
static int damage(void) {
  static const char others[] = "9{[\"\\,-\x80";
  size_t refused = 0, made = 0;
  uint32_t random = 1;
  char *text = malloc(manifest.length);
  Problem problem;
  for (size_t i = 0; i < manifest.length; ++i) {
    for (size_t kind = 0; kind < 2; ++kind) {
      DashStringRef damaged = {text, kind ? manifest.length : i};
      memcpy(text, manifest.data, manifest.length);
      random = random * 1664525 + 1013904223;
      text[i] = others[(random >> 16) % (sizeof(others) - 1)];
      DashKernel whole = kernel;
      if (dashKernelCreate(driver, damaged, ptx, order, NULL, NULL, &kernel) != DASH_SUCCESS) {
        ++refused;
        continue;
      }
      ++made;
      memset(&problem, 0, sizeof(problem));
      for (size_t j = 0; j < dashKernelGetNumSizes(kernel) && j < mostSizes; ++j)
        problem.sizes[problem.numSizes++] = (DashSize){dashKernelGetSizeName(kernel, j), 256};
      DashPlan plan = {NULL};
      dashPlanCreate(kernel, 0, problem.sizes, problem.numSizes, NULL, NULL, &plan);
      dashPlanDestroy(plan);
      dashKernelDestroy(kernel);
      kernel = whole;
    }
  }
  free(text);
  printf("damaged: %s refused, %s made\n", refused > manifest.length ? "most" : "few",
         made ? "some" : "none");
  return 0;
}

/* Of the least of several rounds, since others use the machine too. */
static int bench(void) {
  enum { rounds = 20, runs = 20000 };
  Problem problem;
  DashPlan plan = planRows(kernel, 4096, (uint64_t)1 << 40, &problem);
  double least = 1e9;
  for (int round = 0; round < rounds && plan.ptr; ++round) {
    struct timespec start, end;
    timespec_get(&start, TIME_UTC);
    for (int i = 0; i < runs; ++i) {
      for (size_t j = 0; j < problem.arguments.numTensors; ++j)
        problem.tensors[j].address ^= (uint64_t)(i + 1) << 12;
      if (dashPlanRun(plan, NULL, &problem.arguments, print, NULL) != DASH_SUCCESS)
        return 1;
    }
    timespec_get(&end, TIME_UTC);
    double ns =
        ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / runs;
    least = ns < least ? ns : least;
  }
  printf("%.2f us a run on the host, without the driver's own\n", least / 1000);
  dashPlanDestroy(plan);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4 || dashGetApiVersion() != DASH_API_VERSION)
    return 2;
  manifest = readPart(argv[2], ".json");
  ptx = readPart(argv[2], ".ptx");
  order = readPart(argv[2], ".order");
  if (say("driver", dashDriverOpen(ref(argv[1]), print, NULL, &driver)) ||
      say("kernel", dashKernelCreate(driver, manifest, ptx, order, print, NULL, &kernel)))
    return 1;
  int status = 0;
  Problem problem;
  if (!strcmp(argv[3], "run"))
    while (readProblem(&problem))
      runProblem(&problem);
  else if (!strcmp(argv[3], "threads"))
    status = runThreads(runThread);
  else if (!strcmp(argv[3], "kernels"))
    status = runThreads(runKernels);
  else if (!strcmp(argv[3], "misuse"))
    status = misuse(argv[1]);
  else if (!strcmp(argv[3], "damage"))
    status = damage();
  else
    status = bench();
  dashDriverDestroy(driver); /* the kernel keeps it */
  dashKernelDestroy(kernel);
  return status;
}
