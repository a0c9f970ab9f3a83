// The part of a lock that does not fit in place: made at the first use, given back when the lock
// is destroyed or found to be gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lockwright/lock.hpp"

namespace lockwright {

/// A pointer to a T that is made at the first get(), of T::bytes() bytes of
/// zeroed memory from Env::reserve(). Zeroed memory is an empty lazy_part. Where
/// there is no memory, the word is a lock itself, a plain one.
///
///   word           | meaning                                         | next
///   0              | nothing has been made                           | address, plain free
///   address        | the part, if that is reserved for this word     | (address, plain free)
///   plain free     | there will be no part; no thread holds the word | plain held
///   plain held     | a thread holds it, no thread sleeps             | plain free, sleepers
///   plain sleepers | a thread holds it, maybe a thread sleeps        | plain free
///
/// The bytes of a lock that was in use and is free may be copied, as when a program assigns or
/// moves the structure around it. POSIX leaves that undefined, and the C library's mutex survives
/// it. The copy finds a part that is reserved for another word, and makes its own.
///
/// Invariants
///   ONE-MAKER  exactly one thread's T is installed; the others give theirs back and use that one.
///   ONE-WAY    a word with a part of its own does not change, and a plain one stays
///              plain. So unlock uses the same state as lock.
///   CHANGES    what is installed is never what the word held before, so a
///              compare-and-swap fails if another one has come in between.
template <class Env, class T>
class lazy_part {
 public:
  constexpr lazy_part() = default;
  lazy_part(const lazy_part&) = delete;
  lazy_part& operator=(const lazy_part&) = delete;

  // constexpr makes the lock a literal type, which some compilers require for static
  // initialisation. No part is made in a constant evaluation.
  constexpr ~lazy_part() {
    if (!std::is_constant_evaluated()) {
      give_back();
    }
  }

  /// The memory that a part takes.
  static std::size_t bytes() { return Env::reserved_size(T::bytes()); }

  T* get() {
    return get([](T&) {});
  }

  /// The part; null if there will never be one. `begin(part)` is called before it is published.
  template <class Begin>
  T* get(Begin begin) {
    // Acquire, here and in made(), pairs with the release in make(), after the memory was zeroed.
    const std::uint64_t seen = word_.load(std::memory_order_acquire);
    if (is_own(seen)) [[likely]] {
      return part_at(seen);
    }
    return is_plain(seen) ? nullptr : make(seen, begin);
  }

  /// The part if it has been made, else null.
  [[nodiscard]] T* made() const {
    const std::uint64_t seen = word_.load(std::memory_order_acquire);
    return is_own(seen) ? part_at(seen) : nullptr;
  }

  /// For the holder: the part, or null if it holds the word.
  [[nodiscard]] T* held() const {
    // Relaxed: the caller has acquired it.
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);
    return is_plain(seen) ? nullptr : part_at(seen);
  }

  // The word as a lock, where get() has returned null. As three_state.

  [[gnu::noinline]] arrival lock_word() {
    if (try_lock_word()) {
      return arrival::uncontended;
    }
    while (word_.exchange(plain_sleepers_, std::memory_order_acquire) != plain_free_) {
      Env::wait_low(word_, plain_sleepers_);
    }
    return arrival::contended;
  }

  bool try_lock_word() {
    std::uint64_t free = plain_free_;
    // Acquire, here and above, pairs with the exchange in unlock_word().
    return word_.compare_exchange_strong(free, plain_held_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// A thread that gives up leaves the word as it is, which costs one useless wake at most.
  bool try_lock_word_until(std::uint64_t deadline) {
    if (try_lock_word()) {
      return true;
    }
    while (word_.exchange(plain_sleepers_, std::memory_order_acquire) != plain_free_) {
      if (Env::now() >= deadline) {
        return false;
      }
      Env::wait_low_until(word_, plain_sleepers_, deadline);
    }
    return true;
  }

  [[gnu::noinline]] void unlock_word() {
    // Release hands the section's writes over.
    if (word_.exchange(plain_free_, std::memory_order_release) == plain_sleepers_) {
      Env::wake_low(word_, 1);
    }
  }

 private:
  // Odd, as no address is, and below all of them.
  static constexpr std::uint64_t plain_free_ = 1;
  static constexpr std::uint64_t plain_held_ = 3;
  static constexpr std::uint64_t plain_sleepers_ = 5;

  static bool is_plain(std::uint64_t word) { return (word & 1) != 0; }

  static T* part_at(std::uint64_t word) { return reinterpret_cast<T*>(word); }

  [[nodiscard]] bool is_own(std::uint64_t word) const {
    return word > plain_sleepers_ && Env::is_reserved_for(part_at(word), this);
  }

  // Relaxed: the destroying thread knows by other means that no thread uses the lock any more.
  void give_back() {
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);
    if (is_own(seen)) {
      Env::unreserve(part_at(seen), T::bytes(), this);
    }
  }

  /// `seen` is 0, or the address of another word's part.
  template <class Begin>
  [[gnu::noinline]] T* make(std::uint64_t seen, Begin begin) {
    T* mine = static_cast<T*>(Env::reserve(T::bytes(), this));
    if (mine != nullptr && mine == part_at(seen)) [[unlikely]] {
      // The other lock has just been destroyed. Another part is needed for CHANGES.
      T* other = static_cast<T*>(Env::reserve(T::bytes(), this));
      Env::unreserve(mine, T::bytes(), this);
      mine = other;
    }
    if (mine != nullptr) {
      begin(*mine);
    }
    const std::uint64_t wanted =
        mine != nullptr ? reinterpret_cast<std::uint64_t>(mine) : plain_free_;
    if (word_.compare_exchange_strong(seen, wanted, std::memory_order_release,
                                      std::memory_order_acquire)) {
      if (mine != nullptr) {
        Env::install(mine, this);
      }
      return mine;
    }
    if (mine != nullptr) {
      Env::unreserve(mine, T::bytes(), this);
    }
    return is_plain(seen) ? nullptr : part_at(seen);
  }

  // Aligned to 8 bytes, whatever the alignment of the mutex.
  alignas(8) typename Env::template atomic<std::uint64_t> word_{};
};

}  // namespace lockwright
