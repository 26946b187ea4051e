// What can go wrong between two renames, by FAULT: loaded in front of the C library, once in a process.
//   signal  a SIGTERM after the first file
//   refuse  the second file cannot be renamed
//   wait    half a second after the first file
//   full    no space for the PTX

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

static bool is(const char *fault) {
  const char *wanted = std::getenv("FAULT");
  return wanted && !std::strcmp(wanted, fault);
}

static bool endsWith(const std::string &text, const char *end) {
  size_t size = std::strlen(end);
  return text.size() >= size && !text.compare(text.size() - size, size, end);
}

extern "C" int rename(const char *from, const char *to) noexcept {
  static auto next = reinterpret_cast<int (*)(const char *, const char *)>(dlsym(RTLD_NEXT, "rename"));
  if (is("refuse") && endsWith(from, ".part") && endsWith(to, ".json")) {
    errno = EIO;
    return -1;
  }
  int status = next(from, to);
  if (endsWith(to, ".ptx") && endsWith(from, ".part")) {
    if (is("signal"))
      raise(SIGTERM);
    if (is("signal") || is("wait"))
      usleep(500000);
  }
  return status;
}

extern "C" ssize_t write(int file, const void *bytes, size_t size) {
  static auto next = reinterpret_cast<ssize_t (*)(int, const void *, size_t)>(dlsym(RTLD_NEXT, "write"));
  char path[4096] = {};
  std::string link = "/proc/self/fd/" + std::to_string(file);
  if (is("full") && readlink(link.c_str(), path, sizeof(path) - 1) > 0 && std::strstr(path, ".ptx.")) {
    errno = ENOSPC;
    return -1;
  }
  return next(file, bytes, size);
}
