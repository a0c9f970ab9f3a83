// Virtual speedup of the sections of chosen mutexes, in the library of `lockwright what-if --measure`
// only: while a thread is in one, all others fall behind by a share of the section, as if its work were
// that much shorter and all else as it is (Curtsinger and Berger, Coz, SOSP 2015, section 3.4). Or of the
// waits for chosen locks: while a thread waits, all others fall behind, as if it did not; or of those of
// readers for readers, whose sections overlap by their clocks.
//
// A thread's level is by how much its clock is behind the real one: what it was delayed or forgiven. Its
// level rises by the share of each section that it ends. `owed` of the buffer is the highest level, that all
// shall have: a thread below it owes the difference, and waits for so long once it has released a lock, but
// not while it holds one, which others would have to wait for.
//
// A thread that ends a wait takes the waiter along to its own clock. A signal within a section comes
// earlier by what the section is shorter so far. If by these clocks the wait had ended before it began, there
// would have been none, and all of it is forgiven, with the time to wake up. A mutex is not acquired within
// its last section by the clock of that section's thread, also without a wait; before it, it is, as if the
// two threads had come in the other order, while all sections of the mutex fit into the time that has passed.
// If the other thread has not paid yet, the waiter owes as much. What is owed for the time of other waits, as
// for a device, is paid after them; what is owed for a time without a processor is forgiven. So a thread that
// is not above it owes
//
//   owed - (delays_paid + delays_forgiven)
#pragma once

#include <pthread.h>

#include <cstdint>

#include "probe/profile_buffer.hpp"

namespace lockwright::probe::speedup {

#ifdef LOCKWRIGHT_SPEEDUP

/// Delays the calling thread by what it owes, unless it holds a lock that others may wait for.
void pay();

/// Does so after the release of a lock. What a thread guards with a mutex and a condition variable, as
/// a queue or Python's interpreter lock, it may hold without a mutex, until it signals: a thread that
/// signals now and then pays after that.
void pay_after_release();

/// Called with a mutex just acquired. is_counted: not after a wait for a condition variable, which the
/// rate of acquisitions leaves out.
void enter(pthread_mutex_t* mutex, bool is_counted = true);

/// Called before a mutex is released.
void leave(pthread_mutex_t* mutex);

/// Called with a reader-writer lock that was acquired, if it was, and after one was released.
void note_held(bool was_acquired);
void note_released();

/// Called before a call that may end waits for an object.
void note_wake(const void* object);

/// Return whether waits for the lock of a record, or for an object, count as none at present.
bool spares_waits(const record& of);
bool spares_waits(const wait_object& of);

/// Returns whether a section of the mutex of a record, taken at a site, goes together with others.
bool is_reader(const record& of, std::uint64_t site);

/// Gives a thread that begins the level of one that owes nothing.
void begin_thread(const profile_buffer& target, thread_slot& thread);

/// A wait of the calling thread. Within a section, it is no work of it, and not shortened.
class waiting {
 public:
  waiting();

  /// woken: another thread ended the wait. object, other: it did so by one of these, the latest if
  /// there are two; null if no call of it is known. lock: the object, if it is a mutex. is_spared: it
  /// counts as none; of two objects, that for the other one.
  void end(bool woken, const void* object, const void* other = nullptr,
           pthread_mutex_t* lock = nullptr, bool is_spared = false) const;

  /// The same for a reader's wait for a mutex, which counts as none behind readers.
  void end_of_reader(bool woken, pthread_mutex_t* lock) const;

 private:
  std::uint64_t begin_;
};

#else

inline void pay() {}
inline void pay_after_release() {}
inline void enter(pthread_mutex_t*, bool = true) {}
inline void leave(pthread_mutex_t*) {}
inline void note_held(bool) {}
inline void note_released() {}
inline void note_wake(const void*) {}
inline bool spares_waits(const record&) { return false; }
inline bool spares_waits(const wait_object&) { return false; }
inline bool is_reader(const record&, std::uint64_t) { return false; }
inline void begin_thread(const profile_buffer&, thread_slot&) {}
struct waiting {
  void end(bool, const void*, const void* = nullptr, pthread_mutex_t* = nullptr,
           bool = false) const {}
  void end_of_reader(bool, pthread_mutex_t*) const {}
};

#endif

}  // namespace lockwright::probe::speedup
