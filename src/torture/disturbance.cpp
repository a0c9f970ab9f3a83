#include "disturbance.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "clock.hpp"
#include "phase_run.hpp"
#include "stopper.hpp"

namespace torture {
namespace {

std::atomic<std::uint64_t> handled{0};
cpu_set_t usable;
std::vector<int> numbers;

void handle(int) {
  // Sometimes long enough to delay the threads that wait for this one.
  if (handled.fetch_add(1, std::memory_order_relaxed) % 8 == 0) {
    busy(30 * us);
  }
}

}  // namespace

void prepare_disturbances() {
  CPU_ZERO(&usable);
  sched_getaffinity(0, sizeof usable, &usable);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &usable)) {
      numbers.push_back(i);
    }
  }
  struct sigaction action{};
  action.sa_handler = handle;
  // Without SA_RESTART: sleeps in the kernel end early, which the lock must handle.
  sigaction(SIGUSR1, &action, nullptr);
}

std::uint64_t signals_handled() { return handled.load(); }

disturbance::disturbance(phase_run& on, stopper& stops)
    : on_{on}, stops_{stops}, draw_{on.plan.seed ^ 0xC2B2AE3D27D4EB4Fu} {
  stops_.allow(on.plan.stops);
}

void disturbance::on_tick() {
  if (on_.plan.stutter) {
    stutter();
  }
  if (on_.plan.shuffle) {
    shuffle();
  }
  if (on_.plan.signals) {
    send_signals();
  }
}

void disturbance::end() {
  stops_.allow(false);
  on_.halt(false);
}

void disturbance::stutter() {
  if (on_.tick() >= next_stutter_) {
    halted_ = !halted_;
    on_.halt(halted_);
    next_stutter_ = on_.tick() + (halted_ ? draw_.between(1, 8) : draw_.between(2, 30));
  }
}

void disturbance::shuffle() {
  if (on_.tick() < next_shuffle_) {
    return;
  }
  next_shuffle_ = on_.tick() + draw_.between(2, 20);
  for (const worker& each : on_.workers()) {
    const int tid = each.tid.load();
    if (tid == 0 || each.now.load() == activity::absent || !draw_.one_in(4)) {
      continue;
    }
    cpu_set_t set = usable;
    if (!draw_.one_in(4)) {
      CPU_ZERO(&set);
      CPU_SET(static_cast<std::size_t>(numbers[draw_.below(numbers.size())]), &set);
    }
    // It may have ended meanwhile.
    sched_setaffinity(tid, sizeof set, &set);
  }
}

void disturbance::send_signals() {
  for (std::uint64_t i = draw_.below(4); i > 0; --i) {
    const worker& one = on_.workers()[draw_.below(on_.workers().size())];
    if (const int tid = one.tid.load(); tid != 0 && one.now.load() != activity::absent) {
      syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
    }
  }
}

}  // namespace torture
