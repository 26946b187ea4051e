/* Asks through the C API, in C, what kernels cover.
 *
 *   capi-coverage NAME=VALUE...   prints the coverage, or why there is none
 *   capi-coverage misuse          calls with NULL and the like
 *
 * Names are those of DashProblem. What is not given is unknown.
 */
#include "dash-c/Coverage.h"
#include "files.h"
#include <inttypes.h>

static void print(const DashDiagnostic *diagnostic, void *userData) {
  (void)userData;
  printf("%.*s\n", (int)diagnostic->message.length, diagnostic->message.data);
}

static const DashProblem unknown = {{"", 0},
                                    {"", 0},
                                    {"", 0},
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN,
                                    -1,
                                    -1,
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    DASH_UNKNOWN,
                                    -1,
                                    -1,
                                    0,
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN,
                                    DASH_UNKNOWN};

static int set(DashProblem *problem, const char *argument) {
  const char *value = strchr(argument, '=');
  if (!value)
    return 0;
  size_t length = value++ - argument;
#define IS(NAME) (length == strlen(NAME) && !strncmp(argument, NAME, length))
  struct {
    const char *name;
    int64_t *number;
  } numbers[] = {{"capability", &problem->capability},
                 {"headDim", &problem->headDim},
                 {"headDimV", &problem->headDimV},
                 {"left", &problem->left},
                 {"right", &problem->right},
                 {"batch", &problem->batch},
                 {"heads", &problem->heads},
                 {"kvHeads", &problem->kvHeads},
                 {"qRows", &problem->qRows},
                 {"kvRows", &problem->kvRows},
                 {"sequences", &problem->sequences},
                 {"cut", &problem->cut},
                 {"unionColumns", &problem->unionColumns},
                 {"unionLeft", &problem->unionLeft},
                 {"unionRight", &problem->unionRight},
                 {"blockQ", &problem->blockQ},
                 {"blockKv", &problem->blockKv},
                 {"qBlocks", &problem->qBlocks},
                 {"kvBlocks", &problem->kvBlocks}};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i)
    if (IS(numbers[i].name)) {
      *numbers[i].number = strtoll(value, NULL, 10);
      return 1;
    }
  if (IS("element"))
    problem->element = ref(value);
  else if (IS("level"))
    problem->level = ref(value);
  else if (IS("device"))
    problem->device = ref(value);
  else if (IS("softcap"))
    problem->softcap = strtof(value, NULL);
  else if (IS("hasSink"))
    problem->hasSink = atoi(value);
  else if (IS("hasUnion"))
    problem->hasUnion = atoi(value);
  else if (IS("hasBlocks"))
    problem->hasBlocks = atoi(value);
  else
    return 0;
  return 1;
}

static int misuse(void) {
  DashCoverage coverage;
  memset(&coverage, 7, sizeof(coverage));
  DashCoverage before = coverage;
  DashProblem problem = unknown;
  printf("%s\n", dashGetStatusName(dashCompilerCovers(NULL, print, NULL, &coverage)));
  problem.level.data = NULL;
  problem.level.length = 3;
  printf("%s\n", dashGetStatusName(dashCompilerCovers(&problem, print, NULL, &coverage)));
  problem = unknown;
  problem.headDim = 65;
  printf("%s\n", dashGetStatusName(dashCompilerCovers(&problem, NULL, NULL, &coverage)));
  printf("untouched: %d\n", !memcmp(&coverage, &before, sizeof(coverage)));
  printf("%s\n", dashGetStatusName(dashCompilerCovers(&unknown, NULL, NULL, NULL)));
  return 0;
}

int main(int argc, char **argv) {
  if (dashGetApiVersion() != DASH_API_VERSION)
    return 2;
  if (argc == 2 && !strcmp(argv[1], "misuse"))
    return misuse();
  DashProblem problem = unknown;
  for (int i = 1; i < argc; ++i)
    if (!set(&problem, argv[i])) {
      fprintf(stderr, "expected NAME=VALUE of a DashProblem, found '%s'\n", argv[i]);
      return 2;
    }
  DashCoverage coverage;
  if (dashCompilerCovers(&problem, print, NULL, &coverage) != DASH_SUCCESS)
    return 1;
  printf("batch %" PRId64 ", kv heads %" PRId64 ", rows %" PRId64 ", sequences %" PRId64
         ", capability %" PRId64 ", alignment %" PRId64 ", strides %" PRId64 ", head dims %" PRId64
         " to %" PRId64 ", tasks %" PRId64 "\n",
         coverage.batch, coverage.kvHeads, coverage.rows, coverage.sequences, coverage.capability,
         coverage.alignment, coverage.strideMultiple, coverage.headDimMultiple, coverage.headDim,
         coverage.tasks);
  return 0;
}
