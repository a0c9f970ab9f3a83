// Finding and making what the buffer has on a mutex.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "probe/profile_buffer.hpp"
#include "probe/words.hpp"

namespace lockwright::probe {

/// The record of a mutex, made if there is none. Whether the caller holds it does not matter.
record& record_of(profile_buffer& target, words& mutex, std::uint64_t caller);

/// The record if there is one.
record* known_record(profile_buffer& target, const words& mutex);

/// The details beyond the sums; null if there is no room. Only for the holder.
detail* detail_of(profile_buffer& target, record& of);

/// The number of a caller in `of`, plus one; 0 if there is no room for it. For the holder.
std::uint32_t site_of(profile_buffer& target, detail& of, std::uint64_t caller);

/// The entry for a pair of sites; null if there is no room for it. For the holder.
block* block_of(detail& of, std::uint32_t holder, std::uint32_t waiter);

/// The place of an initialisation, plus one; 0 if there is no room for it.
std::uint32_t place_of(beginnings& begun, std::uint64_t caller);

/// Ensures that the buffer lists the file that contains `address`.
void note_module(profile_buffer& target, std::uint64_t address);

inline std::uint32_t number_of(const profile_buffer& target, const record& one) {
  return static_cast<std::uint32_t>(&one - target.records);
}

}  // namespace lockwright::probe
