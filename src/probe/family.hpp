// The files of a run. The process that first takes a mutex has the one that the environment names.
// Each of the others counts for itself alone, until one of its threads has taken so many mutexes
// that it may be the one of interest, or had to wait: then it gets a file of its own, beside the
// first. `lockwright profile` takes the one whose threads waited most.
#pragma once

#include <cstdint>

#include "sheet.hpp"

namespace lockwright::probe {

/// Files besides the first, each of 17 MB in memory.
inline constexpr unsigned most_files = 8;

/// Acquisitions of one thread that make its process worth a file.
inline constexpr std::int32_t worth_a_file = 1000;

/// The sheet that the environment names; null if there is none.
sheet* map_first();

/// Makes this process the one that a sheet is of; false if it is another's.
bool claim(sheet& target);

/// Notes in the first sheet that there is another process that takes mutexes.
void note_other(sheet& first);

/// A file of its own for this process, noted in the first; null if there is none left, or no room.
sheet* take_own(sheet& first);

}  // namespace lockwright::probe
