#include "stopper.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "clock.hpp"
#include "dice.hpp"
#include "report.hpp"

namespace torture {

struct stopper::shared {
  std::atomic<bool> allowed{false};
  std::atomic<bool> ending{false};
  std::atomic<std::uint64_t> stops{0};
};

namespace {

// By a pidfd, which cannot refer to another process that reuses the number.
bool send(int target, int number) {
  return syscall(SYS_pidfd_send_signal, target, number, nullptr, 0) == 0;
}

}  // namespace

stopper::stopper(std::uint64_t seed) {
  void* const memory =
      mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t own = getpid();
  const int target = static_cast<int>(syscall(SYS_pidfd_open, own, 0));
  if (memory == MAP_FAILED) {
    std::perror("lockwright-torture: mmap");
    std::exit(2);
  }
  shared_ = ::new (memory) shared;
  process_ = target < 0 ? -1 : fork();
  if (process_ == 0) {
    work(*shared_, target, own, seed);
  }
  if (process_ < 0) {
    std::perror("lockwright-torture: no stops in this run");
  }
  if (target >= 0) {
    close(target);
  }
}

stopper::~stopper() {
  // Not killed: it may have just stopped us.
  shared_->ending.store(true);
  if (process_ > 0) {
    waitpid(process_, nullptr, 0);
  }
  munmap(shared_, sizeof(shared));
}

void stopper::allow(bool stops) { shared_->allowed.store(stops); }

std::uint64_t stopper::stops() const { return shared_->stops.load(); }

void stopper::work(shared& with, int target, pid_t parent, std::uint64_t seed) {
  // No process stays stopped forever: the stopped process is killed when its parent ends, and this
  // one when the stopped process ends.
  if (!end_with(parent)) {
    std::_Exit(0);
  }
  dice draw(seed);
  while (!with.ending.load()) {
    sleep_ns(draw.between(3 * ms, 60 * ms));
    if (!with.allowed.load()) {
      continue;
    }
    if (!send(target, SIGSTOP)) {
      std::_Exit(0);
    }
    with.stops.fetch_add(1);
    sleep_ns(draw.one_in(4) ? draw.between(1, 40 * ms) : draw.between(1, 2 * ms));
    if (!send(target, SIGCONT)) {
      std::_Exit(0);
    }
  }
  std::_Exit(0);
}

}  // namespace torture
