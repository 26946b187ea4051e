/* A CUDA driver without a GPU: it writes each call that a launch makes to the file DASH_STUB_LOG,
 * and knows how many parameters of how many bytes an entry has from the PTX that it was given, as
 * the real one does. Without a file it only returns: for measurements.
 *
 * What it pretends, from the environment, which is asked each time: DASH_STUB_DEVICES (2),
 * DASH_STUB_MULTIPROCESSORS (132), DASH_STUB_CAPABILITY (90), DASH_STUB_SHARED (232448),
 * DASH_STUB_ROOM (bytes of memory), DASH_STUB_CAPTURING (a stream), DASH_STUB_ASSEMBLER_SAID (what
 * its assembler says of PTX), DASH_STUB_EVENTS (so many events that the device comes to),
 * DASH_STUB_FAIL=FUNCTION:CODE, such as cuLaunchKernelEx:719 or, for one entry,
 * attention_bwd_main:719; and by handles: the stream 0xca is being captured (of
 * DASH_STUB_CAPTURING=S@DEVICE on that device only), addresses with bit 60 belong to device 1, and
 * those with bit 61 to no device. What it allocates is memory of the host, which fills and copies
 * do write.
 *
 * A thread begins without a context, and has a stack of them. All that needs one fails where none
 * is current, and is written down as "contextless FUNCTION"; a kernel is launched where the
 * context of its module is current only. The context 0xf0e is no device's primary one, and the
 * stream 0xf0e is of it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  invalidValue = 1,
  invalidDevice = 101,
  invalidContext = 201,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600
};
enum {
  mostEntries = 16,
  mostParameters = 256,
  mostBlocks = 1024,
  mostDevices = 2,
  mostContexts = 16
};

typedef struct Entry {
  void *context;
  char name[128];
  int numParameters;
  unsigned char bytes[mostParameters];
} Entry;

typedef struct Module {
  int numEntries;
  Entry entries[mostEntries];
} Module;

typedef struct Attribute {
  uint32_t id, padding, value[16];
} Attribute;

typedef struct Config {
  uint32_t grid[3], block[3], sharedBytes;
  void *stream;
  Attribute *attributes;
  uint32_t numAttributes;
} Config;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;
static int contexts[mostDevices];
static int isActive[mostDevices];
static void *const foreign = (void *)0xf0e; /* a context, and a stream of it */
static __thread void *stack[mostContexts];
static __thread int depth;

typedef struct Block {
  uint64_t address;
  size_t size;
  int device;
} Block;
static Block blocks[mostBlocks];
static int numBlocks; /* that have ever been used */
static size_t used;

/* Called with an entry's name at each launch, for tests that look at what happens meanwhile. */
void (*dashStubOnLaunch)(const char *name);

static int setting(const char *name, int fallback) {
  const char *text = getenv(name);
  return text ? atoi(text) : fallback;
}

static int failing(const char *function) {
  const char *text = getenv("DASH_STUB_FAIL");
  size_t length = strlen(function);
  return text && !strncmp(text, function, length) && text[length] == ':' ? atoi(text + length + 1)
                                                                         : 0;
}

#define LOG(...)                                                                                   \
  do {                                                                                             \
    if (out) {                                                                                     \
      pthread_mutex_lock(&mutex);                                                                  \
      fprintf(out, __VA_ARGS__);                                                                   \
      fflush(out);                                                                                 \
      pthread_mutex_unlock(&mutex);                                                                \
    }                                                                                              \
  } while (0)

int cuInit(unsigned flags) {
  const char *path = getenv("DASH_STUB_LOG");
  if (path && !out)
    out = fopen(path, "a");
  return flags ? invalidValue : failing("cuInit");
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < 0 || ordinal >= setting("DASH_STUB_DEVICES", mostDevices) ? invalidDevice : 0;
}

int cuDeviceGetCount(int *count) {
  *count = setting("DASH_STUB_DEVICES", mostDevices);
  return 0;
}

int cuDeviceGetName(char *name, int length, int device) {
  (void)device;
  snprintf(name, length, "a fake GPU");
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
  case 16:
    *value = setting("DASH_STUB_MULTIPROCESSORS", 132);
    return 0;
  case 75:
    *value = setting("DASH_STUB_CAPABILITY", 90) / 10;
    return 0;
  case 76:
    *value = setting("DASH_STUB_CAPABILITY", 90) % 10;
    return 0;
  case 97:
    *value = setting("DASH_STUB_SHARED", 232448);
    return 0;
  }
  return invalidValue;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  if (device < 0 || device >= mostDevices)
    return invalidDevice;
  *context = &contexts[device];
  isActive[device] = 1;
  LOG("retain %d\n", device);
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  LOG("release %d\n", device);
  return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  *flags = 0;
  *active = isActive[device];
  return 0;
}

static void *currentContext(void) { return depth ? stack[depth - 1] : NULL; }

static int isMissing(const char *function) {
  if (currentContext())
    return 0;
  LOG("contextless %s\n", function);
  return 1;
}

/* What begins with this is for threads that have a context. */
#define NEEDS_CONTEXT                                                                              \
  if (isMissing(__func__))                                                                         \
  return invalidContext

int cuCtxGetCurrent(void **context) {
  *context = currentContext();
  return 0;
}

int cuCtxPushCurrent_v2(void *context) {
  if (!context || depth == mostContexts)
    return invalidContext;
  stack[depth++] = context;
  return 0;
}

int cuCtxPopCurrent_v2(void **context) {
  NEEDS_CONTEXT;
  *context = stack[--depth];
  return 0;
}

/* In place of what is current, or of nothing. */
int cuCtxSetCurrent(void *context) {
  depth -= depth != 0;
  if (context)
    stack[depth++] = context;
  return 0;
}

int cuDriverGetVersion(int *version) {
  *version = setting("DASH_STUB_VERSION", 13000);
  return 0;
}

int cuModuleLoadDataEx(void **result, const void *image, unsigned numOptions, int *options,
                       void **values) {
  NEEDS_CONTEXT;
  int isCubin = !strncmp(image, "cubin of ",
                         9); /* of this driver: the text that it is of, behind these words */
  LOG("load %zu %s\n", strlen(image), isCubin ? "cubin" : "PTX");
  if (!memcmp(image, "\177ELF", 4)) /* a cubin of a real assembler */
    return 209;
  if (isCubin && failing("cubin"))
    return failing("cubin");
  for (unsigned i = 0; i < numOptions && !isCubin; ++i) {
    if (options[i] == 5 &&
        failing("cuModuleLoadDataEx")) /* the log of errors, and that of what it says besides */
      snprintf(values[i], 64, "ptxas fatal: a log\n");
    if (options[i] == 3 && getenv("DASH_STUB_ASSEMBLER_SAID"))
      snprintf(values[i], 1024, "%s\n", getenv("DASH_STUB_ASSEMBLER_SAID"));
  }
  if (failing("cuModuleLoadDataEx"))
    return failing("cuModuleLoadDataEx");
  Module *module = calloc(1, sizeof(Module));
  const char *at = image;
  while ((at = strstr(at, ".entry ")) && module->numEntries < mostEntries) {
    Entry *entry = &module->entries[module->numEntries++];
    entry->context = currentContext();
    at += strlen(".entry ");
    size_t length = strcspn(at, "( \n");
    memcpy(entry->name, at, length);
    const char *end = strchr(at, ')');
    while ((at = strstr(at, ".param .")) && at < end) {
      at += strlen(".param .");
      entry->bytes[entry->numParameters++] = !strncmp(at + 1, "64", 2) ? 8 : 4;
    }
    at = end;
  }
  *result = module;
  return 0;
}

int cuModuleUnload(void *module) {
  NEEDS_CONTEXT;
  LOG("unload\n");
  free(module);
  return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  NEEDS_CONTEXT;
  Module *all = module;
  for (int i = 0; i < all->numEntries; ++i)
    if (!strcmp(all->entries[i].name, name)) {
      *function = &all->entries[i];
      return 0;
    }
  return notFound;
}

int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes) {
  NEEDS_CONTEXT;
  Entry *entry = function;
  if (index >= (size_t)entry->numParameters)
    return invalidValue;
  *offset = 0;
  for (size_t i = 0; i < index; ++i)
    *offset += entry->bytes[i];
  *bytes = entry->bytes[index];
  return 0;
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
  NEEDS_CONTEXT;
  LOG("allow %s %d %d\n", ((Entry *)function)->name, attribute, value);
  return 0;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                size_t sharedBytes) {
  NEEDS_CONTEXT;
  (void)function, (void)threads, (void)sharedBytes;
  *blocks = 1;
  return 0;
}

/* What a host does beside launches. Memory is that of the host, so that copies are real. */
static Block *blockOf(uint64_t address, size_t size) {
  for (int i = 0; i < numBlocks; ++i)
    if (blocks[i].size && address >= blocks[i].address &&
        address + size <= blocks[i].address + blocks[i].size)
      return &blocks[i];
  return NULL;
}

int cuMemAlloc_v2(uint64_t *address, size_t size) {
  NEEDS_CONTEXT;
  const char *room = getenv("DASH_STUB_ROOM");
  if (room && used + size > strtoull(room, NULL, 10))
    return 2;
  pthread_mutex_lock(&mutex);
  Block *block = NULL;
  for (int i = 0; i < mostBlocks && !block; ++i)
    block = blocks[i].size ? NULL : &blocks[i];
  size_t rounded = (size + 255) / 256 * 256;
  void *memory = block ? aligned_alloc(256, rounded) : NULL;
  if (memory) {
    memset(memory, 0xAB, rounded);
    *block = (Block){(uint64_t)(uintptr_t)memory, size, currentContext() == &contexts[1]};
    *address = block->address;
    if (numBlocks <= block - blocks)
      numBlocks = (int)(block - blocks) + 1;
    used += size;
  }
  pthread_mutex_unlock(&mutex);
  LOG("allocate %zu\n", size);
  return memory ? 0 : 2;
}

int cuMemFree_v2(uint64_t address) {
  NEEDS_CONTEXT;
  pthread_mutex_lock(&mutex);
  Block *block = blockOf(address, 1);
  if (block && block->address == address) {
    free((void *)(uintptr_t)address);
    used -= block->size;
    block->size = 0;
  }
  pthread_mutex_unlock(&mutex);
  LOG("free\n");
  return block ? 0 : invalidValue;
}

int cuStreamCreate(void **stream, unsigned flags) {
  NEEDS_CONTEXT;
  *stream = (void *)0x5e;
  LOG("stream %u\n", flags);
  return 0;
}

int cuStreamDestroy_v2(void *stream) {
  NEEDS_CONTEXT;
  LOG("destroy %p\n", stream);
  return 0;
}

/* In any mode but the relaxed one, what is potentially unsafe ends the captures of others. */
int cuThreadExchangeStreamCaptureMode(int *mode) {
  NEEDS_CONTEXT;
  static __thread int now;
  int before = now;
  now = *mode;
  *mode = before;
  return 0;
}

int cuStreamSynchronize(void *stream) {
  NEEDS_CONTEXT;
  LOG("synchronize %p\n", stream);
  return 0;
}

int cuMemcpyHtoD_v2(uint64_t address, const void *data, size_t size) {
  NEEDS_CONTEXT;
  memcpy((void *)(uintptr_t)address, data, size);
  return 0;
}

int cuMemcpyDtoH_v2(void *data, uint64_t address, size_t size) {
  NEEDS_CONTEXT;
  memcpy(data, (const void *)(uintptr_t)address, size);
  return 0;
}

int cuMemsetD8Async(uint64_t address, unsigned char byte, size_t size, void *stream) {
  NEEDS_CONTEXT;
  if (failing("cuMemsetD8Async"))
    return failing("cuMemsetD8Async");
  if (blockOf(address, size))
    memset((void *)(uintptr_t)address, byte, size);
  if (stream == foreign)
    return invalidHandle;
  LOG("fill %#llx %d %zu stream %p\n", (unsigned long long)address, byte, size, stream);
  return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t address, const void *data, size_t size, void *stream) {
  NEEDS_CONTEXT;
  uint32_t sum = 0;
  for (size_t i = 0; i < size; ++i)
    sum = sum * 31 + ((const unsigned char *)data)[i];
  if (blockOf(address, size))
    memcpy((void *)(uintptr_t)address, data, size);
  LOG("copy %#llx %zu %08x stream %p\n", (unsigned long long)address, size, sum, stream);
  return 0;
}

int cuMemcpyDtoHAsync_v2(void *data, uint64_t address, size_t size, void *stream) {
  NEEDS_CONTEXT;
  if (failing("cuMemcpyDtoHAsync_v2"))
    return failing("cuMemcpyDtoHAsync_v2");
  memcpy(data, (const void *)(uintptr_t)address, size);
  LOG("read %#llx %zu stream %p\n", (unsigned long long)address, size, stream);
  return 0;
}

/* Events are numbered from 1. The device comes to all of them, or to DASH_STUB_EVENTS. */
int cuEventCreate(void **event, unsigned flags) {
  NEEDS_CONTEXT;
  static uintptr_t numEvents;
  pthread_mutex_lock(&mutex);
  *event = (void *)++numEvents;
  pthread_mutex_unlock(&mutex);
  LOG("event %p %u\n", *event, flags);
  return 0;
}

int cuEventRecord(void *event, void *stream) {
  NEEDS_CONTEXT;
  LOG("record %p stream %p\n", event, stream);
  return 0;
}

int cuEventQuery(void *event) {
  NEEDS_CONTEXT;
  if (failing("cuEventQuery"))
    return failing("cuEventQuery");
  return (uintptr_t)event > (uintptr_t)setting("DASH_STUB_EVENTS", 1 << 30) ? notReady : 0;
}

int cuEventDestroy_v2(void *event) {
  NEEDS_CONTEXT;
  LOG("forget %p\n", event);
  return 0;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  NEEDS_CONTEXT;
  if (attribute != 9 || address >> 61 & 1)
    return invalidValue;
  Block *block = blockOf(address, 1);
  *(int *)value = block ? block->device : (int)(address >> 60 & 1);
  return 0;
}

int cuStreamIsCapturing(void *stream, int *status) {
  NEEDS_CONTEXT;
  const char *text = getenv("DASH_STUB_CAPTURING");
  char *end = NULL;
  int isNamed = text && stream == (void *)(uintptr_t)strtoull(text, &end, 10);
  if (isNamed && *end == '@')
    isNamed = currentContext() == &contexts[atoi(end + 1)];
  *status = stream == (void *)0xca || isNamed;
  return 0;
}

int cuStreamGetCtx(void *stream, void **context) {
  NEEDS_CONTEXT;
  *context = stream == foreign ? foreign : currentContext();
  return 0;
}

int cuLaunchKernelEx(const Config *config, void *function, void **parameters, void **extra) {
  NEEDS_CONTEXT;
  const Entry *entry = function;
  int code = extra ? invalidValue : failing("cuLaunchKernelEx");
  if (entry->context != currentContext() || config->stream == foreign)
    return invalidHandle;
  code = code ? code : failing(entry->name);
  if (code || !out)
    return code;
  char line[16 * mostParameters + 512];
  int cooperative = 0, overlaps = 0, cluster[3] = {1, 1, 1};
  for (uint32_t i = 0; i < config->numAttributes; ++i) {
    if (config->attributes[i].id == 2)
      cooperative = config->attributes[i].value[0];
    else if (config->attributes[i].id == 4)
      memcpy(cluster, config->attributes[i].value, sizeof(cluster));
    else if (config->attributes[i].id == 6)
      overlaps = config->attributes[i].value[0];
    else
      return invalidValue;
  }
  int at = snprintf(line, sizeof(line),
                    "launch %s grid %u %u %u block %u %u %u cluster %d %d %d shared %u stream %p "
                    "overlaps %d cooperative %d",
                    entry->name, config->grid[0], config->grid[1], config->grid[2],
                    config->block[0], config->block[1], config->block[2], cluster[0], cluster[1],
                    cluster[2], config->sharedBytes, config->stream, overlaps, cooperative);
  for (int i = 0; i < entry->numParameters; ++i) {
    line[at++] = ' ';
    for (int j = 0; j < entry->bytes[i]; ++j)
      at += sprintf(line + at, "%02x", ((const unsigned char *)parameters[i])[j]);
  }
  line[at] = 0;
  LOG("%s\n", line);
  if (dashStubOnLaunch)
    dashStubOnLaunch(entry->name);
  return 0;
}

int cuGetErrorName(int error, const char **text) {
  *text = error == 719              ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == 222            ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
          : error == invalidValue   ? "CUDA_ERROR_INVALID_VALUE"
          : error == 2              ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == invalidContext ? "CUDA_ERROR_INVALID_CONTEXT"
          : error == invalidHandle  ? "CUDA_ERROR_INVALID_HANDLE"
                                    : "CUDA_ERROR_UNKNOWN";
  return 0;
}

int cuGetErrorString(int error, const char **text) {
  *text = error == 719              ? "unspecified launch failure"
          : error == invalidValue   ? "invalid argument"
          : error == 2              ? "out of memory"
          : error == invalidContext ? "invalid device context"
          : error == invalidHandle  ? "invalid resource handle"
                                    : "unknown error";
  return 0;
}
