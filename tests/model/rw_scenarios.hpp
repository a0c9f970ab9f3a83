// The programs that a reader-writer lock has to survive, whatever the interleaving.
#pragma once

#include <cstdint>
#include <new>

#include "lockwright/rwlock/phase_fair.hpp"
#include "scenarios.hpp"

namespace lockwright::check {

/// Readers look at the data, writers change it: a writer that is not alone, or a reader that does
/// not see what the writer before did, is a data race.
struct rw_program : program {
  phase_fair<model> lock;
  protected_data data;

  void write(bool writers_first = false) {
    lock.lock_write();
    change_and_leave(writers_first);
  }
  void change_and_leave(bool writers_first = false) {
    data.change();
    require(lock.is_written(), "a writer sees that it is one");
    lock.unlock_write(writers_first);
  }
  void read(bool passes = false) {
    require(lock.lock_read(passes) == admission::inside, "no reader is refused");
    look_and_leave();
  }
  void look_and_leave() {
    static_cast<void>(data.count());
    require(!lock.is_written(), "a reader sees no writer");
    lock.unlock_read();
  }

  void after() override {
    require(lock.try_lock_write(), "after all threads are through the lock is free");
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

/// A thread comes a second time as a writer, and finds the phase changed.
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

/// Readers that do not meet a writer are never refused, and are inside together.
struct rw_together final : rw_program {
  void thread(std::uint32_t) override {
    require(lock.try_lock_read(false) == admission::inside, "readers share");
    static_cast<void>(data.count());
    require(!lock.try_lock_write(), "not with a writer");
    lock.unlock_read();
  }
};

/// A reader reads again, whatever writers wait meanwhile.
struct rw_recursive final : rw_program {
  void thread(std::uint32_t index) override {
    if (index != 0) {
      write();
      return;
    }
    require(lock.lock_read(false) == admission::inside, "no reader is refused");
    read(true);
    require(lock.try_lock_read(true) == admission::inside, "nor the one that is inside already");
    lock.unlock_read();
    look_and_leave();
  }
};

/// One that passes without reading already is let in beside readers only.
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
      look_and_leave();
    }
    if (lock.try_lock_write()) {
      change_and_leave();
    }
    read();
  }
};

/// A deadline comes while the lock is taken, handed over, or awaited by others.
template <char... Roles>
struct rw_timed final : rw_program {
  void thread(std::uint32_t index) override {
    constexpr char roles[] = {Roles...};
    // It passes before the first look at the clock, or between the first and the second.
    const std::uint64_t deadline = model::now() + 500 + 1'000 * model_env::choose(2);
    switch (roles[index]) {
      case 'R':
        if (lock.lock_read(false, deadline) == admission::inside) {
          look_and_leave();
        }
        break;
      case 'W':
        if (lock.try_lock_write_until(deadline)) {
          change_and_leave();
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

/// One that has all the time there is gets the lock.
struct rw_in_time final : rw_program {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      write();
      read();
      return;
    }
    require(lock.try_lock_write_until(~std::uint64_t{0}), "time enough to write");
    change_and_leave();
    require(lock.lock_read(false, ~std::uint64_t{0}) == admission::inside, "time enough to read");
    look_and_leave();
  }
};

/// The thread that leaves last destroys the lock. One thread reads, all others write.
template <std::uint32_t Threads>
struct rw_last_user_destroys final : program {
  using tested = phase_fair<model>;
  alignas(tested) unsigned char room[sizeof(tested)];
  tested* lock = ::new (static_cast<void*>(room)) tested;
  protected_data wrote;
  protected_data has_read;

  void thread(std::uint32_t index) override {
    bool last = false;
    if (index == 0) {
      lock->lock_read(false);
      has_read.change();
      last = wrote.count() == Threads - 1;
      lock->unlock_read();
    } else {
      lock->lock_write();
      wrote.change();
      last = wrote.count() == Threads - 1 && has_read.count() == 1;
      lock->unlock_write();
    }
    if (last) {
      lock->~tested();
    }
  }
};

}  // namespace lockwright::check
