// mcs-rw: threads that have to wait form a queue, each waiting on its own node; the front one enters
// when those inside leave, and makes the next one the front.
//
// Citation: J. Mellor-Crummey and M. Scott, "Scalable Reader-Writer Synchronization for
// Shared-Memory Multiprocessors", PPoPP 1991 (the fair lock with a queue); O. Krieger, M. Stumm,
// R. Unrau and J. Hanna, "A Fair Fast Scalable Reader-Writer Lock", ICPP 1993.
//
//   bits of the word | meaning                                    | changed by
//   0     written    | a writer is inside                         | writers
//   1     awaited    | the front waits: a thread that leaves the  | the front
//         |          | lock so that it may enter grants it        |
//   6-47  tail       | the last node of the queue; 0: none        | a thread that queues; the front
//   48-63 readers    | readers inside                             | readers
//
//   front | meaning                                               | written by
//   0     | the front polls                                       | the front
//   1     | it sleeps or is about to                              | the front
//   2     | it may enter                                          | the granting thread
//
//   node  | next: the node behind; cell: granted when its owner is the front; it may have left
//
// Invariants
//   EXCLUSION  `written` is set only in a step from a word without it and without readers; a reader
//              is added only in a step from a word without it.
//   ORDER      the queue is in the order of the steps that set `tail`. While there is a queue, only its
//              front enters, except a reader that passes, beside another reader.
//   ONE-GRANT  a front that found the lock held by others sets `awaited`. The step that lets it in, of
//              the writer or the last reader that leaves, is made once, since no other thread enters
//              before it; its thread grants.
//              A front leaves at its deadline only in a step from a word that does not admit it:
//              then no grant is on its way.
//   NODE       a node is in the queue until its owner, as the front, has taken itself off or made the
//              next one the front. If the owner has left at a deadline, the front before does this.
//   NO-TOUCH   after its step on the word a thread that leaves does not access the lock again, unless
//              a thread waits for it to; so the next holder may destroy the lock.
//
// Unlike in the published locks a reader inside has no node: the readers are counted, so any thread
// may unlock. Waiters sleep after a while, and may leave at a deadline, as in spin_then_park; and a
// thread that reads already may pass waiting writers, as otherwise it would wait for itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class mcs_rw {
  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
    spin_then_park<Env> cell;
  };

 public:
  static constexpr rwlock_traits traits{
      .preference = preference::fifo,
      .waiting = waiting::spin_then_park,
      .node_bytes = sizeof(node),
      .suits = "many waiters, none of which may wait long",
      .patents = "US 8,707,324 (fair queue of readers and writers)",
      .reference =
          "Mellor-Crummey and Scott, PPoPP 1991; Krieger, Stumm, Unrau and Hanna, ICPP 1993",
      .summary =
          "Waiters form a queue and enter in its order, consecutive readers together, each waiting "
          "on its own cache line. They poll for a while and then sleep; a release wakes one."};
  static constexpr tunable_list<1> tunables{&spin_bound};
  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    const admission outcome = try_lock_read(passes);
    return outcome == admission::refused ? queue(false, deadline) : outcome;
  }

  [[gnu::always_inline]] admission try_lock_read(bool passes) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while ((seen & (written_ | tail_)) == 0 || (passes && seen >= one_reader_)) [[likely]] {
      if (seen >= most_readers_) [[unlikely]] {
        return admission::too_many;
      }
      // Acquire pairs with the release of the last writer.
      if (word_.compare_exchange_weak(seen, seen + one_reader_, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return admission::inside;
      }
    }
    return admission::refused;
  }

  [[gnu::always_inline]] void unlock_read() {
    // Release: this section is over. Acquire: the front's store to front_.
    const std::uint64_t before = word_.fetch_sub(one_reader_, std::memory_order_acq_rel);
    if ((before & awaited_) != 0 && before < 2 * one_reader_) [[unlikely]] {
      grant();
    }
  }

  arrival lock_write() {
    if (try_lock_write()) {
      return arrival::uncontended;
    }
    queue(true, never);
    return arrival::contended;
  }

  bool try_lock_write() {
    std::uint64_t free = 0;
    // Acquire pairs with the releases of all that have left.
    return word_.load(std::memory_order_relaxed) == free &&
           word_.compare_exchange_strong(free, written_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  bool try_lock_write_until(std::uint64_t deadline) {
    return try_lock_write() || queue(true, deadline) == admission::inside;
  }

  /// The order of the queue holds in any case.
  void unlock_write(bool = false) {
    // Release: this section is over. Acquire: the front's store to front_.
    const std::uint64_t before = word_.fetch_and(~written_, std::memory_order_acq_rel);
    if ((before & awaited_) != 0) [[unlikely]] {
      grant();
    }
  }

  /// For a holder: true if it is a writer.
  bool is_written() const { return (word_.load(std::memory_order_relaxed) & written_) != 0; }

  /// True if any thread reads.
  bool is_read() const { return word_.load(std::memory_order_relaxed) >= one_reader_; }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    const std::uint64_t readers = word_.load(std::memory_order_relaxed) & ~(one_reader_ - 1);
    word_.store(readers | (is_held && readers == 0 ? written_ : 0), std::memory_order_relaxed);
    front_.store(polls_, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t written_ = 1;
  static constexpr std::uint64_t awaited_ = 2;
  static constexpr std::uint64_t one_reader_ = std::uint64_t{1} << 48;
  static constexpr std::uint64_t tail_ = one_reader_ - alignof(node);
  static constexpr std::uint64_t most_readers_ = ~(one_reader_ - 1);

  static constexpr std::uint32_t polls_ = 0;
  static constexpr std::uint32_t sleeps_ = 1;
  static constexpr std::uint32_t granted_ = 2;

  static std::uint64_t tail_of(const node* n) { return reinterpret_cast<std::uintptr_t>(n); }
  static node* node_of(std::uint64_t word) { return reinterpret_cast<node*>(word & tail_); }

  static bool admits(std::uint64_t word, bool writer) {
    return (word & written_) == 0 && (!writer || word < one_reader_);
  }

  /// Waits in the queue and enters. Refused if the deadline came first.
  [[gnu::noinline]] admission queue(bool writer, std::uint64_t deadline) {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    // Release publishes the node to the one behind it, acquire is for that of the one before.
    while (!word_.compare_exchange_weak(seen, (seen & ~tail_) | tail_of(me),
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    if (node* before = node_of(seen); before != nullptr) {
      // Release pairs with the acquire in await_link().
      before->next.store(me, std::memory_order_release);
      if (deadline == never) {
        me->cell.wait();
      } else if (!me->cell.wait_until(deadline)) {
        return admission::refused;
      }
    }
    return enter(me, writer, deadline);
  }

  /// Called by the front: waits until it may enter, and takes itself off the queue in the same step.
  admission enter(node* me, bool writer, std::uint64_t deadline) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (!admits(seen, writer)) {
        if (!await_grant(me, seen, writer, deadline)) {
          return admission::refused;
        }
        continue;
      }
      const bool is_full = !writer && seen >= most_readers_;
      const std::uint64_t entered = is_full ? 0 : writer ? written_ : one_reader_;
      const std::uint64_t rest = without(me, seen);
      // Acquire pairs with the releases of all that have left.
      if (word_.compare_exchange_weak(seen, rest + entered, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        make_next_front(me, (rest & tail_) == 0);
        return is_full ? admission::too_many : admission::inside;
      }
    }
  }

  /// The word without the front, which alone is awaited.
  static std::uint64_t without(const node* front, std::uint64_t word) {
    return word & ~(awaited_ | (node_of(word) == front ? tail_ : 0));
  }

  /// Makes the first node behind `me` whose owner has not left the front, and gives back those before
  /// it. `is_off`: no node is behind, and the word has no tail.
  void make_next_front(node* me, bool is_off) {
    while (!is_off) {
      node* behind = await_link<spin_then_park<Env>>(me->next);
      const bool is_there = behind->cell.grant();
      Env::give_node(me);
      if (is_there) {
        return;
      }
      me = behind;
      std::uint64_t seen = word_.load(std::memory_order_relaxed);
      do {
        is_off = node_of(seen) == me;
        // Relaxed: the thread that finds no tail reads nothing of this one's.
      } while (is_off &&
               !word_.compare_exchange_weak(seen, seen & ~tail_, std::memory_order_relaxed,
                                            std::memory_order_relaxed));
    }
    Env::give_node(me);
  }

  /// Called by the front at its deadline: leaves the queue. False if the word admits it: then the
  /// grant is on its way.
  bool leave(node* me, bool writer) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    do {
      if (admits(seen, writer)) {
        return false;
      }
    } while (!word_.compare_exchange_weak(seen, without(me, seen), std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    make_next_front(me, node_of(seen) == me);
    return true;
  }

  /// Called by the front, which `seen` does not admit: waits until a word does, and stores it there.
  /// False if the front has left at the deadline.
  [[gnu::noinline]] bool await_grant(node* me, std::uint64_t& seen, bool writer,
                                     std::uint64_t deadline) {
    front_.store(polls_, std::memory_order_relaxed);
    // Release publishes front_ to the granting thread.
    while (!word_.compare_exchange_weak(seen, seen | awaited_, std::memory_order_release,
                                        std::memory_order_relaxed)) {
      if (admits(seen, writer)) {
        return true;
      }
    }
    // Acquire, in all of these, pairs with the release in grant().
    const auto comes = [this] { return front_.load(std::memory_order_acquire) == granted_; };
    const std::uint64_t spun = Env::now() + Env::template value<spin_bound>();
    if (!poll_until<Env>(spun < deadline ? spun : deadline, comes)) {
      std::uint32_t polls = polls_;
      if (front_.compare_exchange_strong(polls, sleeps_, std::memory_order_relaxed,
                                         std::memory_order_acquire)) {
        while (!comes()) {
          if (deadline == never || Env::now() < deadline) {
            sleep_on<Env>(front_, sleeps_, deadline);
          } else if (leave(me, writer)) {
            return false;
          } else {
            deadline = never;
          }
        }
      }
    }
    seen = word_.load(std::memory_order_relaxed);
    return true;
  }

  /// Lets the front in. Release: after everything that this thread has done, or has acquired from
  /// others that left.
  void grant() {
    if (front_.exchange(granted_, std::memory_order_release) == sleeps_) {
      Env::wake(front_, 1);
    }
  }

  typename Env::template atomic<std::uint64_t> word_{};
  typename Env::template atomic<std::uint32_t> front_{};
};

}  // namespace lockwright
