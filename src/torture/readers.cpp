// Readers and writers of one reader-writer lock.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"
#include "report.hpp"

namespace torture {
namespace {

// Keeps the compiler from merging or removing accesses.
void compiler_barrier() { asm volatile("" ::: "memory"); }

// A reader-writer lock and the data that it guards.
class shared {
 public:
  shared() { must(pthread_rwlock_init(&lock_, nullptr), "pthread_rwlock_init"); }
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;
  ~shared() { must(pthread_rwlock_destroy(&lock_), "pthread_rwlock_destroy"); }

  void read(worker& me) {
    if (!acquire(me, false)) {
      return;
    }
    enter_as_reader(me);
    // A reader is admitted again even if writers wait.
    const bool again = me.draw.one_in(8);
    if (again) {
      me.does(activity::locks);
      must(pthread_rwlock_rdlock(&lock_), "pthread_rwlock_rdlock by a reader");
      me.does(activity::inside);
    }
    me.run.section(me);
    if (again) {
      release(me);
      me.does(activity::inside);
    }
    leave_as_reader(me);
    release(me);
    me.does(activity::between);
  }

  void write(worker& me) {
    if (!acquire(me, true)) {
      return;
    }
    enter_as_writer(me);
    me.run.section(me);
    leave_as_writer(me);
    release(me);
    me.does(activity::between);
  }

  // The number of sections, exactly, once all threads have ended.
  [[nodiscard]] std::uint64_t counted() const { return left_ + reads_.load(); }

 private:
  // False if it was not acquired by a trylock or up to a deadline.
  bool acquire(worker& me, bool writes) {
    const std::uint64_t way = me.draw.below(8);
    if (way == 0) {
      me.does(activity::tries);
      return acquired(me,
                      writes ? pthread_rwlock_trywrlock(&lock_) : pthread_rwlock_tryrdlock(&lock_),
                      EBUSY, "trylock of a reader-writer lock");
    }
    if (way == 1) {
      return acquire_within(me, writes);
    }
    me.does(activity::locks);
    return acquired(me, writes ? pthread_rwlock_wrlock(&lock_) : pthread_rwlock_rdlock(&lock_), 0,
                    writes ? "pthread_rwlock_wrlock" : "pthread_rwlock_rdlock");
  }

  bool acquire_within(worker& me, bool writes) {
    const clockid_t clock = me.draw.one_in(2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    // Some have passed, some are hardly ahead, and some a section can outlast.
    const std::uint64_t deadline = torture::now(clock) + me.draw.below(3) * me.draw.below(ms);
    const timespec until = at(deadline);
    me.does(activity::locks_by);
    const int result = writes ? pthread_rwlock_clockwrlock(&lock_, clock, &until)
                              : pthread_rwlock_clockrdlock(&lock_, clock, &until);
    if (result == ETIMEDOUT && torture::now(clock) < deadline) {
      fail("deadline", "a call on a reader-writer lock gave up before its deadline");
    }
    return acquired(me, result, ETIMEDOUT, "a timed call on a reader-writer lock");
  }

  static bool acquired(worker& me, int result, int refused, const char* call) {
    if (result != 0 && result == refused) {
      me.does(activity::between);
      return false;
    }
    must(result, call);
    me.does(activity::inside);
    return true;
  }

  void release(worker& me) {
    me.does(activity::unlocks);
    must(pthread_rwlock_unlock(&lock_), "pthread_rwlock_unlock");
  }

  void enter_as_reader(worker& me) {
    readers_.fetch_add(1);
    check_no_writer(me, "admitted to read");
    me.sections.store(me.sections.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    reads_.fetch_add(1, std::memory_order_relaxed);
  }

  void leave_as_reader(worker& me) {
    check_no_writer(me, "reading");
    readers_.fetch_sub(1);
  }

  void check_no_writer(const worker& me, const char* action) {
    const std::uint32_t other = writer_.load(std::memory_order_relaxed);
    compiler_barrier();
    const std::uint64_t left = left_;
    compiler_barrier();
    if (other != 0 || left != right_) {
      fail("exclusion", "thread " + std::to_string(me.number) + " was " + action +
                            " while a writer was inside, or did not see all of its section");
    }
  }

  void enter_as_writer(worker& me) {
    const std::uint32_t other = writer_.load(std::memory_order_relaxed);
    if (other != 0 || readers_.load() != 0) {
      fail("exclusion", "thread " + std::to_string(me.number) +
                            " was admitted to write while another thread was inside");
    }
    writer_.store(me.number, std::memory_order_relaxed);
    compiler_barrier();
    if (left_ != right_) {
      fail("exclusion", "thread " + std::to_string(me.number) +
                            " was admitted to write and did not see all of the last section");
    }
    ++left_;
    compiler_barrier();
    me.sections.store(me.sections.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  void leave_as_writer(worker& me) {
    compiler_barrier();
    if (writer_.load(std::memory_order_relaxed) != me.number || readers_.load() != 0 ||
        left_ != right_ + 1) {
      fail("exclusion", "another thread was admitted while thread " + std::to_string(me.number) +
                            " was writing");
    }
    ++right_;
    compiler_barrier();
    writer_.store(0, std::memory_order_relaxed);
  }

  alignas(cache_line_pair) pthread_rwlock_t lock_;
  // Plain words on two cache lines, equal while no writer is inside.
  alignas(cache_line_pair) std::uint64_t left_ = 0;
  std::atomic<std::uint32_t> writer_{0};
  std::atomic<std::uint32_t> readers_{0};
  std::atomic<std::uint64_t> reads_{0};
  alignas(cache_line_pair) std::uint64_t right_ = 0;
};

}  // namespace

void readers(phase_run& on) {
  const auto lock = std::make_shared<shared>();
  on.also_counted([lock] { return lock->counted(); });
  // From half of the acquisitions to all but one in 64.
  const std::uint64_t reads_of_64 = 64 - (std::uint64_t{1} << on.plan.seed % 6);
  for (std::uint64_t i = 0; i < on.plan.threads; ++i) {
    on.add_worker("reader and writer", [lock, reads_of_64](worker& me) {
      while (!me.run.over()) {
        if (me.draw.below(64) < reads_of_64) {
          lock->read(me);
        } else {
          lock->write(me);
        }
        me.run.gap(me);
      }
    });
  }
}

}  // namespace torture
