// Scenarios that a reader-writer lock has to pass in every interleaving.
#pragma once

#include <cstdint>
#include <new>

#include "lockwright/rwlock/phase_fair.hpp"
#include "scenarios.hpp"

namespace lockwright::check {

/// Readers read the data, writers change it: a writer beside others, or a reader that is not
/// ordered after the previous writer, is a data race.
struct rw_program : program {
  phase_fair<model> lock;
  protected_data data;

  void write(bool writers_first = false) {
    lock.lock_write();
    change_and_unlock(writers_first);
  }
  void change_and_unlock(bool writers_first = false) {
    data.change();
    require(lock.is_written(), "the lock is written");
    lock.unlock_write(writers_first);
  }
  void read(bool passes = false) {
    require(lock.lock_read(passes) == admission::inside, "no reader is refused");
    read_and_unlock();
  }
  void read_and_unlock() {
    static_cast<void>(data.count());
    require(!lock.is_written(), "the lock is not written");
    lock.unlock_read();
  }

  void after() override {
    require(lock.try_lock_write(), "the lock is free after all threads have ended");
    data.change();
    lock.unlock_write();
    require(lock.try_lock_read(false) == admission::inside, "and free for readers");
    lock.unlock_read();
  }
};

/// Each letter is a thread: w writes, r reads; each does so `Times` times.
template <std::uint32_t Times, bool WritersFirst, char... Roles>
struct rw_mixed final : rw_program {
  void thread(std::uint32_t index) override {
    constexpr char roles[] = {Roles...};
    for (std::uint32_t i = 0; i < Times; ++i) {
      if (roles[index] == 'w') {
        write(WritersFirst);
      } else {
        read();
      }
    }
  }
  void after() override {
    require(data.count() == Times * ((Roles == 'w' ? 1 : 0) + ...), "every change counted");
    rw_program::after();
  }
};

/// Each thread both reads and writes, the second time in another phase.
struct rw_both_ways final : rw_program {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      write();
      read();
    } else {
      read();
      write();
    }
  }
};

/// Readers without a writer are never refused, and hold the lock together.
struct rw_together final : rw_program {
  void thread(std::uint32_t) override {
    require(lock.try_lock_read(false) == admission::inside, "readers share");
    static_cast<void>(data.count());
    require(!lock.try_lock_write(), "not with a writer");
    lock.unlock_read();
  }
};

/// A reader acquires again, even if writers wait.
struct rw_recursive final : rw_program {
  void thread(std::uint32_t index) override {
    if (index != 0) {
      write();
      return;
    }
    require(lock.lock_read(false) == admission::inside, "no reader is refused");
    read(true);
    require(lock.try_lock_read(true) == admission::inside, "nor a reader that holds the lock");
    lock.unlock_read();
    read_and_unlock();
  }
};

/// A reader that passes waiting writers without holding the lock is admitted beside readers only.
struct rw_passing final : rw_program {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      write();
    } else {
      read(index == 1);
    }
  }
};

/// A try operation does not wait.
struct rw_tries final : rw_program {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      write();
      write();
      return;
    }
    if (lock.try_lock_read(false) == admission::inside) {
      read_and_unlock();
    }
    if (lock.try_lock_write()) {
      change_and_unlock();
    }
    read();
  }
};

/// A deadline passes while the lock is acquired, handed over, or awaited by others.
template <char... Roles>
struct rw_timed final : rw_program {
  void thread(std::uint32_t index) override {
    constexpr char roles[] = {Roles...};
    // It passes before the first reading of the clock, or between the first and the second.
    const std::uint64_t deadline = model::now() + 500 + 1'000 * model_env::choose(2);
    switch (roles[index]) {
      case 'R':
        if (lock.lock_read(false, deadline) == admission::inside) {
          read_and_unlock();
        }
        break;
      case 'W':
        if (lock.try_lock_write_until(deadline)) {
          change_and_unlock();
        }
        break;
      case 'w':
        write();
        break;
      default:
        read();
        break;
    }
  }
};

/// A thread with an infinite deadline gets the lock.
struct rw_in_time final : rw_program {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      write();
      read();
      return;
    }
    require(lock.try_lock_write_until(~std::uint64_t{0}), "time enough to write");
    change_and_unlock();
    require(lock.lock_read(false, ~std::uint64_t{0}) == admission::inside, "time enough to read");
    read_and_unlock();
  }
};

/// The last thread that unlocks destroys the lock. One thread reads, all others write.
template <std::uint32_t Threads>
struct rw_last_user_destroys final : program {
  using tested = phase_fair<model>;
  alignas(tested) unsigned char memory[sizeof(tested)];
  tested* lock = ::new (static_cast<void*>(memory)) tested;
  protected_data writes;
  protected_data reads;

  void thread(std::uint32_t index) override {
    bool last = false;
    if (index == 0) {
      lock->lock_read(false);
      reads.change();
      last = writes.count() == Threads - 1;
      lock->unlock_read();
    } else {
      lock->lock_write();
      writes.change();
      last = writes.count() == Threads - 1 && reads.count() == 1;
      lock->unlock_write();
    }
    if (last) {
      lock->~tested();
    }
  }
};

}  // namespace lockwright::check
