/* Compiles a program to PTX through libdash:
 *
 *   cc compile.c -ldash && ./a.out bwd-causal.mlir kind=shift [DIR]
 *
 * With DIR, writes NAME.ptx, NAME.json and, where the order is a table, NAME.order of each kernel
 * there: launch.c launches them.
 */
#include "dash-c/Compile.h"
#include <stdio.h>
#include <string.h>

static void print(const DashDiagnostic *diagnostic, void *userData) {
  (void)userData;
  fprintf(stderr, "%s:%u:%u: %s\n", diagnostic->file.data, diagnostic->line, diagnostic->column,
          diagnostic->message.data);
}

/* Returns whether DIR/NAME.ENDING could not be written. */
static int writeFile(const char *folder, const char *name, const char *ending, DashStringRef data) {
  char path[1024];
  snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending);
  FILE *file = fopen(path, "wb");
  int failed = !file || fwrite(data.data, 1, data.length, file) != data.length;
  failed |= file && fclose(file);
  if (failed)
    fprintf(stderr, "cannot write '%s'\n", path);
  return failed;
}

int main(int argc, char **argv) {
  static char text[1 << 16];
  if (argc < 3 || argc > 4) {
    fprintf(stderr,
            "usage: %s PROGRAM.mlir OPTIONS [DIR], such as: %s bwd-causal.mlir "
            "kind=symmetric-shift .\n",
            argv[0], argv[0]);
    return 2;
  }
  if (dashGetApiVersion() != DASH_API_VERSION) {
    fprintf(stderr, "expected a libdash of API version %d, found %u\n", DASH_API_VERSION,
            dashGetApiVersion());
    return 2;
  }
  FILE *file = fopen(argv[1], "rb");
  if (!file) {
    fprintf(stderr, "cannot read '%s'\n", argv[1]);
    return 2;
  }
  DashStringRef source = {text, fread(text, 1, sizeof(text), file)};
  fclose(file);

  DashStringRef name = {argv[1], strlen(argv[1])}, options = {argv[2], strlen(argv[2])};
  DashProgram program;
  DashStatus status = dashCompile(source, name, options, print, NULL, &program);
  if (status != DASH_SUCCESS) {
    fprintf(stderr, "%s\n", dashGetStatusName(status));
    return 1;
  }
  int failed = 0;
  for (size_t i = 0; i < dashProgramGetNumKernels(program); ++i) {
    const char *kernel = dashProgramGetName(program, i).data;
    DashStringRef order = dashProgramGetOrder(program, i);
    printf("%s: PTX, a manifest and %s\n", kernel,
           order.length ? "an order buffer" : "an entry that makes the order");
    if (argc == 4) {
      failed |= writeFile(argv[3], kernel, ".ptx", dashProgramGetPtx(program, i));
      failed |= writeFile(argv[3], kernel, ".json", dashProgramGetManifest(program, i));
      failed |= order.length && writeFile(argv[3], kernel, ".order", order);
    }
  }
  dashProgramDestroy(program);
  return failed;
}
