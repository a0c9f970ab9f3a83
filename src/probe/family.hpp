// The files of a run. The process that is the first to make or take a mutex has the one that the
// environment names. Each of the others counts for itself alone, and says in the first file how much,
// until it is worth a file of its own, beside the first: its threads had to wait, or have taken so
// many locks that it may be the one of interest. `lockwright profile` takes the one whose threads
// waited most. It makes all files, empty, since a process that has changed its user could not.
#pragma once

#include <cstdint>

#include "sheet.hpp"

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

/// The sheet that the environment names; null if there is none.
sheet* map_first();

/// Makes this process the one that a sheet is of; false if it is another's.
bool claim(sheet& target);

/// The place in the first sheet of another process that takes mutexes, which is this one.
other& note_other(sheet& first);

/// Whether to make a file for a process whose threads have taken so many mutexes and never waited.
bool is_worth_a_file(sheet& first, std::uint32_t taken);

/// Fills a file of its own for this process, and notes it in the first; null if there is none left,
/// or no room.
sheet* take_own(sheet& first);

}  // namespace lockwright::probe
