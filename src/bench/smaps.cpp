#include "smaps.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../calibrate/support.hpp"

namespace bench {
namespace {

char report[4096];

// smaps_rollup walks the page tables, where statm may read per-CPU counters that have not been
// folded in yet.
std::int64_t bytes_of(const char* what) {
  const int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fail(std::string("cannot read /proc/self/smaps_rollup: ") + std::strerror(errno));
  }
  // Makes the buffer resident before the first reading.
  std::memset(report, 1, sizeof report);
  const ssize_t length = read(fd, report, sizeof report - 1);
  close(fd);
  report[length < 0 ? 0 : length] = '\0';
  const char* line = std::strstr(report, what);
  if (line == nullptr) {
    fail(std::string("/proc/self/smaps_rollup has no line ") + what);
  }
  return std::strtoll(line + std::strlen(what), nullptr, 10) * 1024;
}

}  // namespace

std::int64_t resident_bytes() { return bytes_of("\nRss:"); }

std::int64_t anonymous_bytes() { return bytes_of("\nAnonymous:"); }

std::int64_t taken_bytes() {
  void* found = dlsym(RTLD_DEFAULT, "lockwright_memory_taken");
  return found == nullptr
             ? 0
             : static_cast<std::int64_t>(reinterpret_cast<std::uint64_t (*)()>(found)());
}

}  // namespace bench
