/* Plans a kernel's order for other sizes through the C API, in C:
 *
 *   capi-planner MANIFEST plan NAME=VALUE...     prints the manifest's line; `order` is the table
 *   capi-planner MANIFEST threads NAME=VALUE...  plans in four threads with one planner
 *   capi-planner MANIFEST choose NAME=VALUE...   what kind=auto takes, of as many parts as $PARTS
 *   capi-planner MANIFEST misuse                 calls with NULL and the like
 */
#include "dash-c/Planner.h"
#include "files.h"
#include <pthread.h>

enum { mostSizes = 8, numThreads = 4 };

static DashPlanner planner;
static DashStringRef manifest;
static DashSize sizes[mostSizes];
static size_t numSizes;

static void print(const DashDiagnostic *diagnostic, void *userData) {
  (void)userData;
  printf("%s: %s\n", diagnostic->severity == DASH_WARNING ? "warning" : "error",
         diagnostic->message.data);
}

static int isEqual(DashStringRef one, DashStringRef other) {
  return one.length == other.length && !memcmp(one.data, other.data, one.length);
}

static DashStatus plan(DashOrder *order, DashDiagnosticHandler handler) {
  return dashPlannerPlan(planner, manifest, sizes, numSizes, handler, NULL, order);
}

static int planOnce(void) {
  DashOrder order = {NULL};
  DashStatus status = plan(&order, print);
  printf("%s\n", dashGetStatusName(status));
  if (status != DASH_SUCCESS)
    return order.ptr != NULL; /* untouched */
  FILE *json = fopen("planned.json", "wb"), *table = fopen("planned.order", "wb");
  if (!json || !table)
    return 2;
  DashStringRef text = dashOrderGetManifest(order), bytes = dashOrderGetBytes(order);
  fwrite(text.data, 1, text.length, json);
  fwrite(bytes.data, 1, bytes.length, table);
  fclose(json);
  fclose(table);
  printf("%s\n", dashOrderGetCertificate(order).data);
  dashOrderDestroy(order);
  return 0;
}

static int choose(void) {
  const char *parts = getenv("PARTS");
  DashChoice choice = {{"untouched", 9}, -1, {"untouched", 9}, -1, -1, -1, 0, 0};
  printf("%s\n",
         dashGetStatusName(dashPlannerChoose(planner, manifest, sizes, numSizes,
                                             parts ? atoll(parts) : 0, print, NULL, &choice)));
  printf("%s parts=%lld apart=%s table=%d rows=%lldx%lld %.6f\n", choice.kind.data,
         (long long)choice.parts, choice.apart.data, choice.isTable, (long long)choice.qRows,
         (long long)choice.kvRows, choice.bound > 0 ? choice.makespan / choice.bound : 0.0);
  return 0;
}

static void *planInThread(void *order) { return plan(order, NULL) == DASH_SUCCESS ? order : NULL; }

static int compareThreads(void) {
  pthread_t threads[numThreads];
  DashOrder orders[numThreads];
  for (int i = 0; i < numThreads; ++i)
    pthread_create(&threads[i], NULL, planInThread, &orders[i]);
  int isSame = 1;
  for (int i = 0; i < numThreads; ++i) {
    void *planned;
    pthread_join(threads[i], &planned);
    isSame &= planned && isEqual(dashOrderGetBytes(orders[i]), dashOrderGetBytes(orders[0])) &&
              isEqual(dashOrderGetManifest(orders[i]), dashOrderGetManifest(orders[0]));
  }
  dashPlannerDestroy(planner);
  planner.ptr = NULL; /* orders stay */
  for (int i = 0; i < numThreads; ++i) {
    isSame &= dashOrderGetBytes(orders[i]).length > 0;
    dashOrderDestroy(orders[i]);
  }
  printf("threads: %s\n", isSame ? "the same" : "different");
  return !isSame;
}

static int misuse(void) {
  DashOrder order = {NULL};
  DashStringRef nothing = {NULL, 1};
  DashPlanner none = {NULL};
  DashSize nameless = {nothing, 1};
  printf("%s\n",
         dashGetStatusName(dashPlannerChoose(planner, manifest, NULL, 0, 0, print, NULL, NULL)));
  printf("%s\n", dashGetStatusName(dashPlannerCreate(print, NULL, NULL)));
  printf("%s\n", dashGetStatusName(dashPlannerPlan(planner, manifest, NULL, 0, print, NULL, NULL)));
  printf("%s\n", dashGetStatusName(dashPlannerPlan(none, manifest, NULL, 0, print, NULL, &order)));
  printf("%s\n",
         dashGetStatusName(dashPlannerPlan(planner, manifest, NULL, 1, print, NULL, &order)));
  printf("%s\n",
         dashGetStatusName(dashPlannerPlan(planner, nothing, NULL, 0, print, NULL, &order)));
  printf("%s\n",
         dashGetStatusName(dashPlannerPlan(planner, manifest, &nameless, 1, print, NULL, &order)));
  printf("%s\n",
         dashGetStatusName(dashPlannerPlan(planner, manifest, NULL, 0, NULL, NULL, &order)));
  printf("%s\n",
         dashGetStatusName(dashPlannerPlan(planner, ref("{}"), NULL, 0, NULL, NULL, &order)));
  dashOrderDestroy(order);
  dashPlannerDestroy(none);
  printf("nothing: '%s' '%s' '%s'\n", dashOrderGetManifest(order).data,
         dashOrderGetBytes(order).data, dashOrderGetCertificate(order).data);
  return order.ptr != NULL;
}

int main(int argc, char **argv) {
  if (argc < 3 || dashGetApiVersion() != DASH_API_VERSION)
    return 2;
  manifest = readFile(argv[1]);
  for (int i = 3; i < argc && numSizes < mostSizes; ++i) {
    char *value = strchr(argv[i], '=');
    if (!value)
      return 2;
    *value = 0;
    sizes[numSizes].name = ref(argv[i]);
    sizes[numSizes++].value = atoll(value + 1);
  }
  if (dashPlannerCreate(print, NULL, &planner) != DASH_SUCCESS)
    return 2;
  int result = !strcmp(argv[2], "plan")      ? planOnce()
               : !strcmp(argv[2], "choose")  ? choose()
               : !strcmp(argv[2], "threads") ? compareThreads()
                                             : misuse();
  dashPlannerDestroy(planner);
  return result;
}
