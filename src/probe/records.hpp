// Finding and making what the buffer has on a mutex.
#pragma once

#include <cstdint>

#include "probe/mutex_words.hpp"
#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// The record of a mutex, made if there is none. Whether the caller holds it does not matter.
record& record_of(profile_buffer& target, mutex_words& mutex, std::uint64_t caller);

/// The record if there is one.
record* known_record(profile_buffer& target, const mutex_words& mutex);

/// The details beyond the sums; null if there is no room. Only for the holder.
mutex_detail* detail_of(profile_buffer& target, record& of);

/// The number of a caller in `of`, plus one; 0 if there is no room for it. For the holder.
std::uint32_t call_site_of(profile_buffer& target, mutex_detail& of, std::uint64_t caller);

/// The entry for a pair of sites; null if there is no room for it. For the holder.
wait_edge* wait_edge_of(mutex_detail& of, std::uint32_t holder, std::uint32_t waiter);

/// The place of an initialisation, plus one; 0 if there is no room for it.
std::uint32_t init_site_of(init_table& inits, std::uint64_t caller);

/// Ensures that the buffer lists the file that contains `address`.
void note_module(profile_buffer& target, std::uint64_t address);

inline std::uint32_t number_of(const profile_buffer& target, const record& one) {
  return static_cast<std::uint32_t>(&one - target.records);
}

}  // namespace lockwright::probe
