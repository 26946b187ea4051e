// Runs a program by dash/Support/RunProgram.h, in a process that has an alarm: run-program SECONDS
// OUTPUT PROGRAM ARGUMENT...
#include "dash/Support/RunProgram.h"
#include "llvm/ADT/SmallVector.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  if (std::getenv("IGNORE_CHILDREN"))
    std::signal(SIGCHLD, SIG_IGN);
  alarm(100000);
  llvm::SmallVector<llvm::StringRef> arguments(argv + 3, argv + argc);
  std::string why;
  int status =
      mlir::dash::runProgram(argv[3], arguments, argv[2], std::chrono::seconds(atoi(argv[1])), why);
  std::printf("%d: %s; the alarm is %s\n", status, why.c_str(),
              alarm(0) > 50000 ? "there" : "gone");
  return 0;
}
