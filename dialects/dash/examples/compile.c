/* Compiles a program to PTX through libdash, and says what it made:  cc compile.c -ldash && ./a.out bwd-causal.mlir kind=shift */
#include "dash-c/Compile.h"
#include <stdio.h>
#include <string.h>

static void print(const DashDiagnostic *diagnostic, void *userData) {
  (void)userData;
  fprintf(stderr, "%s:%u:%u: %s\n", diagnostic->file.data, diagnostic->line, diagnostic->column, diagnostic->message.data);
}

int main(int argc, char **argv) {
  static char text[1 << 16];
  if (argc != 3 || dashGetApiVersion() != DASH_API_VERSION)
    return 2;
  FILE *file = fopen(argv[1], "rb");
  if (!file)
    return 2;
  DashStringRef source = {text, fread(text, 1, sizeof(text), file)};
  fclose(file);

  DashStringRef name = {argv[1], strlen(argv[1])}, options = {argv[2], strlen(argv[2])};
  DashProgram program;
  DashStatus status = dashCompile(source, name, options, print, NULL, &program);
  if (status != DASH_SUCCESS) {
    fprintf(stderr, "%s\n", dashGetStatusName(status));
    return 1;
  }
  for (size_t i = 0; i < dashProgramGetNumKernels(program); ++i)
    printf("%s: PTX, a manifest and %s\n", dashProgramGetName(program, i).data,
           dashProgramGetOrder(program, i).length ? "an order buffer" : "an entry that makes the order");
  dashProgramDestroy(program);
  return 0;
}
