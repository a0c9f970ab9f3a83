// Finds and creates the entries of a mutex in the buffer.
#pragma once

#include <cstdint>

#include "probe/mutex_words.hpp"
#include "probe/profile_buffer.hpp"
#include "probe/rwlock_words.hpp"

namespace lockwright::probe {

/// Returns the record of a mutex, which the caller need not hold; creates it if there is none.
record& record_of(profile_buffer& target, mutex_words& mutex, std::uint64_t caller);

/// Returns the record of a mutex; null if there is none.
record* known_record(profile_buffer& target, const mutex_words& mutex);

/// Returns the records of a reader-writer lock: that of its writers, the other one behind it;
/// creates them if there are none. The caller need not hold the lock.
record* records_of(profile_buffer& target, rwlock_words& lock, std::uint64_t caller);

/// Returns the details of a mutex; null if there is no room. Only for a holder.
mutex_detail* detail_of(profile_buffer& target, record& entry);

/// Returns the number of a caller in `detail`, plus one; 0 if there is no room. Only for a holder.
std::uint32_t call_site_of(profile_buffer& target, mutex_detail& detail, std::uint64_t caller);

/// Returns the entry of a pair of sites; null if there is no room. Only for a holder.
wait_edge* wait_edge_of(mutex_detail& detail, std::uint32_t holder, std::uint32_t waiter);

/// Returns the number of an initialisation site, plus one; 0 if there is no room.
std::uint32_t init_site_of(init_table& inits, std::uint64_t caller);

/// Ensures that the buffer lists the file that contains `address`.
void note_module(profile_buffer& target, std::uint64_t address);

inline std::uint32_t number_of(const profile_buffer& target, const record& entry) {
  return static_cast<std::uint32_t>(&entry - target.records);
}

}  // namespace lockwright::probe
