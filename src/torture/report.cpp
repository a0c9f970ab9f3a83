#include "report.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clock.hpp"
#include "phase_run.hpp"
#include "stacks.hpp"

namespace torture {
namespace {

const settings* options = nullptr;
const phase* current_phase = nullptr;
const phase_run* current_run = nullptr;

bool (*retired)(const void*) = nullptr;

void crash(int number, siginfo_t* info, void*) {
  char text[100];
  const bool ours = number == SIGSEGV && retired != nullptr && retired(info->si_addr);
  std::snprintf(text, sizeof text, "a thread died of signal %d (SIG%s) at address %p", number,
                sigabbrev_np(number), info->si_addr);
  if (ours) {
    fail("reuse", "a mutex was touched after its last user had destroyed it");
  }
  fail("crash", text);
}

}  // namespace

void announce(const settings* given, const phase* current, const phase_run* on) {
  options = given;
  current_phase = current;
  current_run = on;
}

void fail(const char* check, const std::string& what) {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true)) {
    // Another thread is about to end the process.
    for (;;) {
      pause();
    }
  }
  // A deadlock in the report must not keep the process alive.
  std::signal(SIGALRM, SIG_DFL);
  alarm(20);
  line failure_line("failure");
  failure_line.field("check", check).field("what", what);
  if (current_phase != nullptr) {
    failure_line.field("phase", current_phase->number).field("in", current_phase->description());
  }
  failure_line.print();
  std::fprintf(stderr, "FAILED (%s): %s\n", check, what.c_str());
  if (options != nullptr && current_phase != nullptr) {
    std::fprintf(stderr, "in phase %llu of seed %llu: %s\n",
                 static_cast<unsigned long long>(current_phase->number),
                 static_cast<unsigned long long>(options->seed),
                 current_phase->description().c_str());
  }
  if (current_run != nullptr) {
    current_run->show(stderr);
    show_stacks(*current_run);
  }
  std::fflush(stderr);
  std::_Exit(1);
}

void catch_crashes(bool (*is_ours)(const void* address)) {
  retired = is_ours;
  struct sigaction action{};
  action.sa_sigaction = crash;
  // In static memory: other threads may crash during the first report.
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    sigaction(number, &action, nullptr);
  }
}

bool end_with(int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;
}

}  // namespace torture
