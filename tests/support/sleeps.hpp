// A test whether a thread of this process sleeps in the kernel.
#pragma once

#include <sys/types.h>
#include <cstdio>
#include <cstring>

namespace check {

inline bool sleeps(pid_t tid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  char line[256] = {};
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  // "tid (name) S ...": the name may contain blanks and parentheses.
  const char* after = read ? std::strrchr(line, ')') : nullptr;
  return after != nullptr && after[1] == ' ' && after[2] == 'S';
}

}  // namespace check
