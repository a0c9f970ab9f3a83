// Scenarios that a reader-writer lock has to pass in every interleaving.
#pragma once

#include <cstdint>
#include <new>

#include "lockwright/rwlock.hpp"
#include "scenarios.hpp"
#include "traced_rwlock.hpp"

namespace lockwright::check {

/// Readers read the data, writers change it: a writer beside others, or a reader that is not
/// ordered after the previous writer, is a data race.
template <class L>
struct rw_program : program {
  traced_rwlock<L> lock;
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
template <class L, std::uint32_t Times, bool WritersFirst, char... Roles>
struct rw_mixed final : rw_program<L> {
  void thread(std::uint32_t index) override {
    constexpr char roles[] = {Roles...};
    for (std::uint32_t i = 0; i < Times; ++i) {
      if (roles[index] == 'w') {
        this->write(WritersFirst);
      } else {
        this->read();
      }
    }
  }
  void after() override {
    require(this->data.count() == Times * ((Roles == 'w' ? 1 : 0) + ...), "every change counted");
    rw_program<L>::after();
  }
};

/// The same after the lock was written and read.
template <class L, std::uint32_t Times, char... Roles>
struct rw_after_use final : rw_program<L> {
  rw_after_use() {
    this->write();
    this->read();
  }
  void thread(std::uint32_t index) override {
    constexpr char roles[] = {Roles...};
    for (std::uint32_t i = 0; i < Times; ++i) {
      if (roles[index] == 'w') {
        this->write();
      } else {
        this->read();
      }
    }
  }
};

/// Two writers come at once after the lock was read; one of them reads while the other is still to
/// enter.
template <class L>
struct rw_reads_again final : rw_program<L> {
  rw_reads_again() {
    this->write();
    this->read();
  }
  void thread(std::uint32_t index) override {
    this->write();
    if (index == 0) {
      this->read();
      this->read();
    }
  }
};

/// Each thread both reads and writes, the second time in another phase.
template <class L>
struct rw_both_ways final : rw_program<L> {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->write();
      this->read();
    } else {
      this->read();
      this->write();
    }
  }
};

/// Readers without a writer are never refused, and hold the lock together.
template <class L>
struct rw_together final : rw_program<L> {
  void thread(std::uint32_t) override {
    require(this->lock.try_lock_read(false) == admission::inside, "readers share");
    static_cast<void>(this->data.count());
    require(!this->lock.try_lock_write(), "not with a writer");
    this->lock.unlock_read();
  }
};

/// A reader acquires again, even if writers wait.
template <class L>
struct rw_recursive final : rw_program<L> {
  void thread(std::uint32_t index) override {
    if (index != 0) {
      this->write();
      return;
    }
    require(this->lock.lock_read(false) == admission::inside, "no reader is refused");
    this->read(true);
    require(this->lock.try_lock_read(true) == admission::inside,
            "nor a reader that holds the lock");
    this->lock.unlock_read();
    this->read_and_unlock();
  }
};

/// A reader that passes waiting writers without holding the lock is admitted beside readers only.
template <class L>
struct rw_passing final : rw_program<L> {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->write();
    } else {
      this->read(index == 1);
    }
  }
};

/// A reader's section ends in the other thread, which reads too; both units end.
template <class L>
struct rw_unlocked_by_another final : rw_program<L> {
  model::atomic<std::uint32_t> inside{0};

  void thread(std::uint32_t index) override {
    if (index == 0) {
      require(this->lock.lock_read(false) == admission::inside, "no reader is refused");
      static_cast<void>(this->data.count());
      inside.store(1, std::memory_order_release);
      return;
    }
    this->read();
    while (inside.load(std::memory_order_acquire) == 0) {
      model::relax();
    }
    require(!this->lock.try_lock_write(), "a thread reads");
    this->lock.unlock_read();
    this->write();
  }
};

/// A try operation does not wait.
template <class L>
struct rw_tries final : rw_program<L> {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->write();
      this->write();
      return;
    }
    if (this->lock.try_lock_read(false) == admission::inside) {
      this->read_and_unlock();
    }
    if (this->lock.try_lock_write()) {
      this->change_and_unlock();
    }
    this->read();
  }
};

/// A deadline passes while the lock is acquired, handed over, or awaited by others.
template <class L, char... Roles>
struct rw_timed final : rw_program<L> {
  void thread(std::uint32_t index) override {
    constexpr char roles[] = {Roles...};
    // It passes before the first reading of the clock, or between the first and the second.
    const std::uint64_t deadline = model::now() + 500 + 1'000 * model_env::choose(2);
    switch (roles[index]) {
      case 'R':
        if (this->lock.lock_read(false, deadline) == admission::inside) {
          this->read_and_unlock();
        }
        break;
      case 'W':
        if (this->lock.try_lock_write_until(deadline)) {
          this->change_and_unlock();
        }
        break;
      case 'w':
        this->write();
        break;
      default:
        this->read();
        break;
    }
  }
};

/// A thread with an infinite deadline acquires the lock.
template <class L>
struct rw_in_time final : rw_program<L> {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->write();
      this->read();
      return;
    }
    require(this->lock.try_lock_write_until(~std::uint64_t{0}), "time enough to write");
    this->change_and_unlock();
    require(this->lock.lock_read(false, ~std::uint64_t{0}) == admission::inside,
            "time enough to read");
    this->read_and_unlock();
  }
};

/// The last thread that unlocks destroys the lock. One thread reads, all others write.
template <class L, std::uint32_t Threads>
struct rw_last_user_destroys final : program {
  using tested = traced_rwlock<L>;
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

/// A reader beside readers is admitted even if a writer waits: for a lock that prefers readers.
template <class L>
struct rw_prefers_readers final : rw_program<L> {
  void thread(std::uint32_t index) override {
    if (index != 0) {
      this->write();
      return;
    }
    require(this->lock.lock_read(false) == admission::inside, "no reader is refused");
    require(this->lock.try_lock_read(false) == admission::inside, "nor one beside a reader");
    this->lock.unlock_read();
    this->read_and_unlock();
  }
};

/// A reader that arrives when a writer waits enters after a writer: for a lock that does not prefer
/// readers. Where a reader is refused beside readers, a writer waits.
template <class L>
struct rw_passes_no_writer final : rw_program<L> {
  void thread(std::uint32_t index) override {
    if (index != 0) {
      this->write();
      return;
    }
    require(this->lock.lock_read(false) == admission::inside, "no reader is refused");
    const bool writer_waits = this->lock.try_lock_read(false) == admission::refused;
    if (!writer_waits) {
      this->lock.unlock_read();
    }
    this->lock.unlock_read();
    require(this->lock.lock_read(false) == admission::inside, "no reader is refused");
    require(!writer_waits || this->data.count() != 0, "the writer that waited came first");
    this->lock.unlock_read();
  }
};

}  // namespace lockwright::check
