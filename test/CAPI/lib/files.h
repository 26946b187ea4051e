/* What the programs of these tests read. */
#include "dash-c/Compile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline DashStringRef ref(const char *text) {
  DashStringRef result = {text, strlen(text)};
  return result;
}

/* The bytes of a file; NULL where there is none. */
static inline DashStringRef readFile(const char *path) {
  enum { capacity = 1 << 22 };
  DashStringRef result = {NULL, 0};
  FILE *file = fopen(path, "rb");
  if (!file)
    return result;
  char *data = malloc(capacity);
  result.data = data;
  result.length = fread(data, 1, capacity, file);
  fclose(file);
  return result;
}
