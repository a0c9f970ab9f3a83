#include "footprint.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace torture {
namespace {

// Exact; the kernel's running counts in /proc/self/statm lag behind by some pages for each thread.
bool add_exact(std::uint64_t& bytes) {
  std::FILE* const file = std::fopen("/proc/self/smaps_rollup", "re");
  if (file == nullptr) {
    return false;
  }
  char line[256];
  bool found = false;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long long kilobytes = 0;
    if (std::sscanf(line, "Rss: %llu", &kilobytes) == 1 ||
        std::sscanf(line, "Swap: %llu", &kilobytes) == 1) {
      bytes += kilobytes << 10;
      found = true;
    }
  }
  std::fclose(file);
  return found;
}

void add_running_count(std::uint64_t& bytes) {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) {
    return;
  }
  unsigned long long resident = 0;
  if (std::fscanf(file, "%*u %llu", &resident) == 1) {
    bytes += resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  std::fclose(file);
}

}  // namespace

footprint measure_footprint() {
  footprint measured;
  if (!add_exact(measured.bytes)) {
    add_running_count(measured.bytes);
  }
  if (std::FILE* const file = std::fopen("/proc/self/maps", "re"); file != nullptr) {
    char line[512];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      measured.mappings += std::strchr(line, '\n') != nullptr ? 1 : 0;
    }
    std::fclose(file);
  }
  return measured;
}

}  // namespace torture
