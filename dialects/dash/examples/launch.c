/* Computes gradients once, on random inputs, and writes a hash of each:
 *
 *   cc launch.c -ldash && ./a.out attention_bwd [LIBCUDA] [SIZE=VALUE ...]
 *
 * attention_bwd.json, .ptx and, if there is one, .order are what compile.c or
 * `dash-opt --dash-to-ptx=output=attention_bwd` wrote. An order that is a table serves the sizes
 * that it was made for: name those that differ from `sizes` below. The rest of a host would have
 * memory and a stream already; here a few functions of the driver are looked up by hand, so that
 * nothing of CUDA is needed.
 */
#include "dash-c/Launch.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { numTensors = 9, numInputs = 6 };

static void print(const DashDiagnostic *diagnostic, void *userData) {
  (void)userData;
  fprintf(stderr, "%s\n", diagnostic->message.data);
}

static DashStringRef readFile(const char *base, const char *ending, int isNeeded) {
  char path[1024];
  snprintf(path, sizeof(path), "%s%s", base, ending);
  DashStringRef result = {NULL, 0};
  FILE *file = fopen(path, "rb");
  if (!file && isNeeded) {
    fprintf(stderr, "cannot read '%s'; dash-opt and compile.c write it\n", path);
    exit(1);
  }
  if (!file)
    return result;
  char *data = malloc(1 << 24);
  result.data = data;
  result.length = fread(data, 1, 1 << 24, file);
  fclose(file);
  return result;
}

static void *find(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (!found) {
    fprintf(stderr, "no %s\n", name);
    exit(1);
  }
  return found;
}

static void check(const char *what, int failed) {
  if (!failed)
    return;
  fprintf(stderr, "cannot %s: %d\n", what, failed);
  exit(1);
}

static size_t elementsOf(const DashTensor *tensor) {
  size_t elements = 1;
  for (uint32_t i = 0; i < tensor->rank; ++i)
    elements *= (size_t)tensor->shape[i];
  return elements;
}

static size_t bytesOf(const DashTensor *tensor) {
  return elementsOf(tensor) * (tensor->element == DASH_F32 ? 4 : 2);
}

/* Small whole numbers in every type: -2 to 2. Their generator is a line in any language. */
static void fill(const DashTensor *tensor, void *memory, uint32_t seed) {
  static const uint16_t bf16[] = {0xc000, 0xbf80, 0, 0x3f80, 0x4000},
                        f16[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};
  for (size_t i = 0; i < elementsOf(tensor); ++i) {
    seed = seed * 1664525 + 1013904223;
    uint32_t number = (seed >> 16) % 5;
    if (tensor->element == DASH_F32)
      ((float *)memory)[i] = 8; /* an LSE */
    else
      ((uint16_t *)memory)[i] = tensor->element == DASH_BF16 ? bf16[number] : f16[number];
  }
}

static DashSize sizes[] = {{{"batch", 5}, 2},
                           {{"heads", 5}, 4},
                           {{"kv_heads", 8}, 2},
                           {{"q_rows", 6}, 1000},
                           {{"kv_rows", 7}, 1200}};
enum { numSizes = sizeof(sizes) / sizeof(*sizes) };

/* SIZE=VALUE changes one of `sizes`. */
static int readSize(const char *argument) {
  const char *value = strchr(argument, '=') + 1;
  for (int i = 0; i < numSizes; ++i)
    if (sizes[i].name.length == (size_t)(value - argument - 1) &&
        !strncmp(argument, sizes[i].name.data, sizes[i].name.length)) {
      char *end;
      sizes[i].value = strtoll(value, &end, 10);
      return *value && !*end;
    }
  return 0;
}

int main(int argc, char **argv) {
  const char *name = argc > 2 && !strchr(argv[2], '=') ? argv[2] : "libcuda.so.1";
  DashStringRef library = {name, strlen(name)};
  DashDriver driver;
  DashKernel kernel;
  DashPlan plan;
  int isCall = argc > 1;
  for (int i = argc > 2 && name == argv[2] ? 3 : 2; i < argc; ++i)
    isCall = isCall && strchr(argv[i], '=') && readSize(argv[i]);
  if (!isCall) {
    fprintf(stderr,
            "usage: %s NAME [LIBCUDA] [SIZE=VALUE ...], where NAME.json and NAME.ptx are a "
            "compiled kernel, and sizes are batch, heads, "
            "kv_heads, q_rows and kv_rows\n",
            argv[0]);
    return 2;
  }
  if (dashGetApiVersion() != DASH_API_VERSION) {
    fprintf(stderr, "expected a libdash of API version %d, found %u\n", DASH_API_VERSION,
            dashGetApiVersion());
    return 2;
  }

  /* 1. A kernel, and a plan of one problem. */
  if (dashDriverOpen(library, print, NULL, &driver) != DASH_SUCCESS ||
      dashKernelCreate(driver, readFile(argv[1], ".json", 1), readFile(argv[1], ".ptx", 1),
                       readFile(argv[1], ".order", 0), print, NULL, &kernel) != DASH_SUCCESS)
    return 1;
  if (dashPlanCreate(kernel, 0, sizes, numSizes, print, NULL, &plan) != DASH_SUCCESS)
    return 1;

  /* 2. Memory: tensors, and two blocks for the plan. */
  void *cuda = dlopen(name, RTLD_NOW), *context;
  int (*retain)(void **, int) = (int (*)(void **, int))find(cuda, "cuDevicePrimaryCtxRetain");
  int (*setCurrent)(void *) = (int (*)(void *))find(cuda, "cuCtxSetCurrent");
  int (*allocate)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))find(cuda, "cuMemAlloc_v2");
  int (*copyIn)(uint64_t, const void *, size_t) =
      (int (*)(uint64_t, const void *, size_t))find(cuda, "cuMemcpyHtoD_v2");
  int (*copyOut)(void *, uint64_t, size_t) =
      (int (*)(void *, uint64_t, size_t))find(cuda, "cuMemcpyDtoH_v2");
  check("take the context", retain(&context, 0) || setCurrent(context));
  DashTensor tensors[numTensors];
  for (uint32_t i = 0; i < numTensors; ++i) {
    tensors[i] = dashPlanGetTensor(plan, i); /* contiguous; any strides would do */
    check("allocate", allocate(&tensors[i].address, bytesOf(&tensors[i])));
    void *host = calloc(1, bytesOf(&tensors[i]));
    if (i < numInputs)
      fill(&tensors[i], host, i);
    check("copy", copyIn(tensors[i].address, host, bytesOf(&tensors[i])));
    free(host);
  }
  DashArguments arguments = {tensors,
                             numTensors,
                             dashKernelGetDefaultScale(kernel),
                             {0, dashPlanGetWorkspaceBytes(plan)},
                             {0, dashPlanGetOrderBytes(plan)},
                             /*clearsRows=*/0};
  check("allocate", allocate(&arguments.workspace.address, arguments.workspace.bytes));
  check("allocate", allocate(&arguments.order.address, arguments.order.bytes));

  /* 3. Zeros and the order once, then any number of runs; all on the default stream. */
  if (dashPlanClear(plan, NULL, arguments.workspace, print, NULL) != DASH_SUCCESS ||
      dashPlanMakeOrder(plan, NULL, arguments.order, print, NULL) != DASH_SUCCESS)
    return 1;
  for (int run = 0; run < 2; ++run)
    if (dashPlanRun(plan, NULL, &arguments, print, NULL) != DASH_SUCCESS)
      return 1;

  /* 4. The gradients. */
  for (uint32_t i = numInputs; i < numTensors; ++i) {
    size_t bytes = bytesOf(&tensors[i]);
    unsigned char *host = malloc(bytes);
    check("copy",
          copyOut(host, tensors[i].address, bytes)); /* behind all work of the default stream */
    uint64_t hash = 14695981039346656037u;
    for (size_t j = 0; j < bytes; ++j)
      hash = (hash ^ host[j]) * 1099511628211u;
    printf("%s %016llx\n", dashKernelGetTensorName(kernel, i).data, (unsigned long long)hash);
    free(host);
  }
  dashPlanDestroy(plan);
  dashKernelDestroy(kernel);
  dashDriverDestroy(driver);
  return 0;
}
