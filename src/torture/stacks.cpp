#include "stacks.hpp"

#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "clock.hpp"
#include "phase_run.hpp"

namespace torture {
namespace {

constexpr int max_frames = 24;
// The stacks of so many threads show enough.
constexpr int max_stacks = 40;

std::atomic<std::uint32_t> shown{0};

void print_own(int) {
  void* frames[max_frames];
  const int count = backtrace(frames, max_frames);
  // The first two are this function and the kernel's return from the signal.
  backtrace_symbols_fd(frames + 2, count > 2 ? count - 2 : 0, STDERR_FILENO);
  shown.fetch_add(1);
}

void show_stack(int tid, const char* title) {
  std::fputs(title, stderr);
  std::fflush(stderr);
  const std::uint32_t before = shown.load();
  if (syscall(SYS_tgkill, getpid(), tid, SIGUSR2) != 0) {
    return;
  }
  // A thread that requests its own stack, or blocks the signal, does not answer.
  for (int i = 0; i < 100 && shown.load() == before; ++i) {
    sleep_ns(2 * ms);
  }
}

}  // namespace

void prepare_stacks() {
  // The first call loads a library, which no handler should have to do.
  void* frame = nullptr;
  backtrace(&frame, 1);
  struct sigaction action{};
  action.sa_handler = print_own;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR2, &action, nullptr);
}

void show_stacks(const phase_run& on) {
  show_stack(getpid(), "stack of the main thread:\n");
  int left = max_stacks;
  for (const worker& each : on.workers()) {
    const int tid = each.tid.load();
    if (each.now.load() == activity::absent || tid == 0 || left-- <= 0) {
      continue;
    }
    char title[64];
    std::snprintf(title, sizeof title, "stack of thread %u (%s):\n", each.number, each.role);
    show_stack(tid, title);
  }
}

void show_stack_of(int pid) {
  std::fflush(stderr);
  kill(pid, SIGUSR2);
  // Long enough for a busy machine.
  sleep_ns(2000 * ms);
}

}  // namespace torture
