// The files of a run. The first process that initialises or locks a mutex has the file that the
// environment names. Each other process counts its acquisitions, and adds them up in the first
// file, until it gets a file of its own beside the first: when its threads wait, or have locked so
// many mutexes that it may be the process of interest. `lockwright profile` reads the one whose
// threads waited most. The command creates all files, empty, since a process that has changed its
// user could not.
#pragma once

#include <cstdint>

#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// Files besides the first, each of 18 MB in memory once it is filled.
inline constexpr unsigned max_files = 8;

/// Acquisitions after which a process gets a file in any case.
inline constexpr std::uint32_t acquisitions_for_file = 1000;

/// Acquisitions after which a process gets a file if no other has nearly as many. Fewer take
/// microseconds, while filling a file takes thousands of them; but the first process that locks a
/// mutex has a file, so that no profile is empty.
inline constexpr std::uint32_t acquisitions_if_most = 100;

/// The ratio to the next process's acquisitions that `acquisitions_if_most` requires; so at most
/// two files are filled for it.
inline constexpr std::uint32_t ratio_of_most = 4;

/// Maps the buffer that the environment names; returns null if there is none.
profile_buffer* map_first();

/// Sets the beginning of the profile to now.
void note_begin(profile_buffer& target);

/// Claims a buffer for this process; returns false if it is another's.
bool claim(profile_buffer& target);

/// Adds this process to the first buffer's table of other processes; returns its entry.
other_process& note_other_process(profile_buffer& first);

/// Returns true if a process gets a file after `taken` acquisitions without a wait.
bool gets_file(profile_buffer& first, std::uint32_t taken);

/// Fills a file for this process, notes it in the first and maps it; returns null if no file or no
/// memory is left.
profile_buffer* fill_own_file(profile_buffer& first);

}  // namespace lockwright::probe
