// The files of a run. The process that is the first to make or take a mutex has the one that the
// environment names. Each of the others counts for itself alone, and says in the first file how
// much, until it is worth a file of its own, beside the first: its threads had to wait, or have
// taken so many locks that it may be the one of interest. `lockwright profile` takes the one whose
// threads waited most. It makes all files, empty, since a process that has changed its user could
// not.
#pragma once

#include <cstdint>

#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// Files besides the first, each of 17 MB in memory once it is filled.
inline constexpr unsigned most_files = 8;

/// Acquisitions that make a process worth a file, whatever the others do.
inline constexpr std::uint32_t worth_a_file = 1000;

/// Those that do so where no other has nearly as many. Fewer take microseconds, and making a file
/// takes thousands of them; but the first one that takes any has one, so that there is something to
/// see.
inline constexpr std::uint32_t worth_a_look = 100;

/// What is not nearly as many: a quarter. So at most two files are made for `worth_a_look`.
inline constexpr std::uint32_t nearly = 4;

/// The buffer that the environment names; null if there is none.
profile_buffer* map_first();

/// Makes this process the one that a buffer is of; false if it is another's.
bool claim(profile_buffer& target);

/// The place in the first buffer of another process that takes mutexes, which is this one.
other_process& note_other_process(profile_buffer& first);

/// Whether to make a file for a process whose threads have taken so many mutexes and never waited.
bool is_worth_a_file(profile_buffer& first, std::uint32_t taken);

/// Fills a file of its own for this process, and notes it in the first; null if there is none left,
/// or no room.
profile_buffer* take_own(profile_buffer& first);

}  // namespace lockwright::probe
