#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"
#include "report.hpp"
#include "stacks.hpp"

namespace torture {
namespace {

// The exit status of a child.
enum verdict : int {
  passed,
  orphan,
  unlock_fails,
  lock_fails,
  trylock_busy,
  deadline_fails,
  wait_fails
};

const char* description_of(int status) {
  switch (status) {
    case unlock_fails:
      return "could not unlock a mutex that it held across the fork";
    case lock_fails:
      return "could not lock or unlock a free mutex";
    case trylock_busy:
      return "found a free mutex locked";
    case deadline_fails:
      return "could not lock a free mutex with a deadline";
    case wait_fails:
      return "did not get the mutex back from a wait with a deadline";
    default:
      return "ended with an unknown status";
  }
}

struct fork_state {
  explicit fork_state(guarded& by) : mutex{by} {}
  guarded& mutex;
  condition woken{CLOCK_MONOTONIC};
};

// In the child, which is the only thread of its process. Ends with a verdict.
[[noreturn]] void check_in_child(phase_run& on, fork_state& state, pid_t parent,
                                 std::uint64_t held) {
  if (!end_with(parent)) {
    std::_Exit(orphan);
  }
  const timespec soon = at(now() + ms);
  for (guarded& each : on.mutexes()) {
    // Mutexes that other threads of the parent held stay locked.
    if (each.number >= held) {
      if (pthread_mutex_trylock(&each.mutex) == 0 &&
          (pthread_mutex_unlock(&each.mutex) != 0 || pthread_mutex_lock(&each.mutex) != 0 ||
           pthread_mutex_unlock(&each.mutex) != 0)) {
        std::_Exit(lock_fails);
      }
      continue;
    }
    if (pthread_mutex_unlock(&each.mutex) != 0) {
      std::_Exit(unlock_fails);
    }
    for (int i = 0; i < 2; ++i) {
      if (pthread_mutex_lock(&each.mutex) != 0 || pthread_mutex_unlock(&each.mutex) != 0) {
        std::_Exit(lock_fails);
      }
    }
    if (pthread_mutex_trylock(&each.mutex) != 0 || pthread_mutex_unlock(&each.mutex) != 0) {
      std::_Exit(trylock_busy);
    }
    if (pthread_mutex_clocklock(&each.mutex, CLOCK_MONOTONIC, &soon) != 0 ||
        pthread_mutex_unlock(&each.mutex) != 0) {
      std::_Exit(deadline_fails);
    }
  }
  // The waiters are threads of the parent.
  pthread_cond_signal(&state.woken.cond);
  pthread_cond_broadcast(&state.woken.cond);
  if (pthread_mutex_trylock(&state.mutex.mutex) != 0) {
    std::_Exit(held == 0 ? passed : trylock_busy);
  }
  if (pthread_cond_timedwait(&state.woken.cond, &state.mutex.mutex, &soon) != ETIMEDOUT ||
      pthread_mutex_unlock(&state.mutex.mutex) != 0) {
    std::_Exit(wait_fails);
  }
  std::_Exit(passed);
}

void await_child(worker& me, pid_t child) {
  me.does(activity::waits_for_others);
  const std::uint64_t began = me.run.tick();
  int status = 0;
  for (std::uint64_t pause = 100 * us; waitpid(child, &status, WNOHANG) == 0; pause = 2 * ms) {
    sleep_ns(pause);
    if (me.run.tick() - began >= me.run.patience_ticks()) {
      show_stack_of(child);
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      fail("fork", "the child of a fork makes no progress (its stack is above)");
    }
  }
  if (WIFSIGNALED(status)) {
    fail("fork", "the child of a fork died of signal " + std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != passed) {
    fail("fork", std::string("the child of a fork ") + description_of(WEXITSTATUS(status)));
  }
}

void fork_loop(worker& me, fork_state& state) {
  auto& all = me.run.mutexes();
  while (!me.run.over()) {
    // Forks with all mutexes held, as pthread_atfork handlers do, with one, or with none.
    const std::uint64_t drawn = me.draw.below(4);
    const std::uint64_t held = drawn < 2 ? 0 : drawn == 2 ? 1 : all.size();
    for (std::uint64_t i = 0; i < held; ++i) {
      all[i].lock(me);
    }
    const pid_t own = getpid();
    const pid_t child = fork();
    if (child == 0) {
      check_in_child(me.run, state, own, held);
    }
    if (child < 0) {
      fail("fork", "fork failed");
    }
    for (std::uint64_t i = held; i > 0; --i) {
      all[i - 1].unlock(me);
    }
    await_child(me, child);
    me.run.gap(me);
  }
}

// Waits on the condition variable while other threads fork.
void wait_during_forks(worker& me, fork_state& state) {
  while (!me.run.over()) {
    state.mutex.lock(me);
    state.mutex.wait_within(me, state.woken, me.draw.between(1, 5 * ms));
    state.mutex.unlock(me);
    me.run.gap(me);
  }
}

}  // namespace

void forks(phase_run& on) {
  const auto state = std::make_shared<fork_state>(on.mutexes()[0]);
  on.add_worker("forker", [state](worker& me) { fork_loop(me, *state); });
  if (on.plan.threads >= 4) {
    on.add_worker("forker", [state](worker& me) { fork_loop(me, *state); });
  }
  on.add_worker("waiter", [state](worker& me) { wait_during_forks(me, *state); });
  for (std::uint64_t i = 0; i < on.plan.threads; ++i) {
    write_until_over(on);
  }
}

}  // namespace torture
