/* Compiles a program through the C API, in C: what Compile.h promises, and what it refuses.
 *
 *   capi-compile FILE OPTIONS ptx|manifest|order|name  writes that part of the first kernel
 *   capi-compile FILE OPTIONS threads                  compiles in four threads, and compares
 *   capi-compile FILE OPTIONS misuse                   calls with NULL and the like
 */
#include "dash-c/Compile.h"
#include "files.h"
#include <pthread.h>

static void print(const DashDiagnostic *diagnostic, void *userData) {
  static const char *words[] = {"error", "warning", "note", "remark"};
  ++*(int *)userData;
  fprintf(stderr, "%s:%u:%u: %s: %s\n", diagnostic->file.data, diagnostic->line, diagnostic->column,
          words[diagnostic->severity], diagnostic->message.data);
}

static DashStringRef source, options;

static void *compileOnce(void *result) {
  DashStatus status = dashCompile(source, ref("a thread's"), options, NULL, NULL, result);
  return status == DASH_SUCCESS ? result : NULL;
}

static int compareThreads(void) {
  enum { numThreads = 4 };
  pthread_t threads[numThreads];
  DashProgram programs[numThreads];
  for (int i = 0; i < numThreads; ++i)
    pthread_create(&threads[i], NULL, compileOnce, &programs[i]);
  int good = 0;
  DashStringRef first = {NULL, 0};
  for (int i = 0; i < numThreads; ++i) {
    void *made;
    pthread_join(threads[i], &made);
    if (!made)
      continue;
    DashStringRef ptx = dashProgramGetPtx(programs[i], 0);
    if (!first.data)
      first = ptx;
    good += ptx.length == first.length && !memcmp(ptx.data, first.data, ptx.length);
  }
  for (int i = 0; i < numThreads; ++i)
    dashProgramDestroy(programs[i]);
  printf("%d threads agree\n", good);
  return good != numThreads;
}

static void say(const char *what, DashStatus status) {
  printf("%s: %s\n", what, dashGetStatusName(status));
}

static int misuse(void) {
  int count = 0;
  DashProgram untouched = {(void *)&count}, none = {NULL};
  DashStringRef bad = {NULL, 3};
  say("no place", dashCompile(source, ref("here"), options, print, &count, NULL));
  say("no source", dashCompile(bad, ref("here"), options, print, &count, &untouched));
  say("no such option",
      dashCompile(source, ref("here"), ref("knd=shift"), print, &count, &untouched));
  say("no such word",
      dashCompile(source, ref("here"), ref("kind=shift level=always"), print, &count, &untouched));
  say("no number",
      dashCompile(source, ref("here"), ref("kind=shift workers=many"), print, &count, &untouched));
  say("output", dashCompile(source, ref("here"), ref("output=x"), print, &count, &untouched));
  say("a file of costs",
      dashCompile(source, ref("here"), ref("costs=/etc/passwd"), print, &count, &untouched));
  say("an order", dashCompile(source, ref("here"), ref("kind=file path=/etc/passwd"), print, &count,
                              &untouched));
  say("an assembler", dashCompile(source, ref("here"), ref("kind=shift ptxas=/bin/true"), print,
                                  &count, &untouched));
  DashCompileFiles files = {{"", 0}, {"", 0}, bad};
  say("no assembler",
      dashCompileWithFiles(source, ref("here"), options, &files, print, &count, &untouched));
  files = (DashCompileFiles){{"", 0}, ref("/nowhere.json"), {"", 0}};
  say("no costs",
      dashCompileWithFiles(source, ref("here"), options, &files, print, &count, &untouched));
  say("twice", dashCompileWithFiles(source, ref("here"), ref("ptxas=auto"), &files, print, &count,
                                    &untouched));
  say("no program",
      dashCompile(ref("module {}"), ref("empty"), options, print, &count, &untouched));
  say("no syntax", dashCompile(ref("\n  moule"), ref("here"), options, print, &count, &untouched));
  say("no handler", dashCompile(ref("moule"), ref("here"), options, NULL, NULL, &untouched));
  printf("untouched: %d, diagnostics: %s\n", untouched.ptr == (void *)&count,
         count >= 12 ? "all" : "missing");
  printf("empty: %zu %zu\n", dashProgramGetNumKernels(none), dashProgramGetPtx(none, 7).length);
  dashProgramDestroy(none);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4 || dashGetApiVersion() != DASH_API_VERSION)
    return 2;
  source = readFile(argv[1]);
  if (!source.data) {
    perror(argv[1]);
    return 2;
  }
  options = ref(argv[2]);
  if (!strcmp(argv[3], "threads"))
    return compareThreads();
  if (!strcmp(argv[3], "misuse"))
    return misuse();
  int count = 0;
  DashProgram program;
  DashStatus status = dashCompile(source, ref(argv[1]), options, print, &count, &program);
  if (status != DASH_SUCCESS) {
    fprintf(stderr, "%s\n", dashGetStatusName(status));
    return 1;
  }
  DashStringRef part = !strcmp(argv[3], "ptx")        ? dashProgramGetPtx(program, 0)
                       : !strcmp(argv[3], "manifest") ? dashProgramGetManifest(program, 0)
                       : !strcmp(argv[3], "order")    ? dashProgramGetOrder(program, 0)
                                                      : dashProgramGetName(program, 0);
  fwrite(part.data, 1, part.length, stdout);
  dashProgramDestroy(program);
  return 0;
}
