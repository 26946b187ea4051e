//===- RunProgram.cpp - run a program and wait without alarms -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's wait with a limit takes over the process's alarm and SIGALRM. A library must not, so this
// file polls to keep a limit.
//
//===----------------------------------------------------------------------===//

#include "dash/Support/RunProgram.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Program.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <thread>

int mlir::dash::runProgram(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
                           llvm::StringRef output, std::chrono::seconds mostSeconds,
                           std::string &why) {
  using Clock = std::chrono::steady_clock;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), output, output};
  bool isNotThere = false;
  llvm::sys::ProcessInfo child = llvm::sys::ExecuteNoWait(
      program, arguments, /*Env=*/std::nullopt, redirects, /*MemoryLimit=*/0, &why, &isNotThere);
  if (isNotThere || child.Pid == llvm::sys::ProcessInfo::InvalidPid)
    return -1;
  auto end = Clock::now() + mostSeconds;
  bool isLate = false;
  int status = 0;
  for (std::chrono::milliseconds pause(1);;
       pause = std::min(2 * pause, std::chrono::milliseconds(50))) {
    pid_t ended = waitpid(child.Pid, &status, isLate ? 0 : WNOHANG);
    if (ended == child.Pid)
      break;
    if (ended < 0 && errno != EINTR) {
      // If SIGCHLD is ignored, or other code waits for all children, the exit status is lost.
      why = "its exit status was taken by another part of the process";
      return -1;
    }
    if (!isLate && (isLate = Clock::now() >= end))
      kill(child.Pid, SIGKILL);
    else if (ended == 0)
      std::this_thread::sleep_for(pause);
  }
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  why = isLate ? ("it took more than " + llvm::Twine(mostSeconds.count()) + " s").str()
               : std::string("it was ended by a signal: ") + strsignal(WTERMSIG(status));
  return -1;
}
