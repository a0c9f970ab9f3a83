#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"

namespace torture {
namespace {

constexpr std::uint64_t max_children = 4;

void lock_a_few_times(worker& me) {
  for (std::uint64_t i = me.draw.between(1, 12); i > 0; --i) {
    guarded& it = me.run.any_mutex(me);
    if (!me.draw.one_in(4)) {
      it.lock(me);
    } else if (!it.try_lock(me)) {
      continue;
    }
    me.run.section(me);
    it.unlock(me);
  }
}

void lock_and_exit(worker& me) {
  lock_a_few_times(me);
  pthread_exit(nullptr);
}

// Leaves the first mutex locked for the thread that joins this one.
void exit_inside(worker& me) {
  lock_a_few_times(me);
  me.run.mutexes()[0].lock(me);
}

// Another thread may unlock a mutex only if its type does not check the owner.
bool may_be_left(const guarded& it) {
  return it.type == PTHREAD_MUTEX_NORMAL || it.type == PTHREAD_MUTEX_ADAPTIVE_NP;
}

void start_and_join_all(worker& me, const std::vector<worker*>& children) {
  while (!me.run.over()) {
    guarded& first = me.run.mutexes()[0];
    const std::uint64_t count = me.draw.between(1, children.size());
    const bool leaves = may_be_left(first) && me.draw.one_in(8);
    for (std::uint64_t i = 0; i < count; ++i) {
      me.run.start_helper(*children[i], leaves && i == 0    ? exit_inside
                                        : me.draw.one_in(2) ? lock_a_few_times
                                                            : lock_and_exit);
    }
    me.does(activity::waits_for_others);
    for (std::uint64_t i = 0; i < count; ++i) {
      me.run.join_helper(*children[i]);
      if (leaves && i == 0) {
        first.leave(*children[0]);
        must(pthread_mutex_unlock(&first.mutex), "pthread_mutex_unlock by another thread");
      }
    }
    me.run.gap(me);
  }
}

}  // namespace

void churn(phase_run& on) {
  const std::uint64_t parents = on.plan.threads < 8 ? 1 : on.plan.threads < 32 ? 2 : 4;
  for (std::uint64_t i = 0; i < parents; ++i) {
    std::vector<worker*> children;
    for (std::uint64_t n = 0; n < (on.options.parks ? max_children : 2); ++n) {
      children.push_back(&on.add_helper("child"));
    }
    on.add_worker("parent", [children](worker& me) { start_and_join_all(me, children); });
  }
  write_until_over(on);
}

}  // namespace torture
