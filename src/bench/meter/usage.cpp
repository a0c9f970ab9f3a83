#include "usage.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace bench {
namespace {

constexpr const char* migrations_name = "se.nr_migrations";

std::optional<std::int64_t> migrations_of(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) {
    return std::nullopt;
  }
  std::optional<std::int64_t> found;
  std::array<char, 256> line;
  while (!found && std::fgets(line.data(), line.size(), file) != nullptr) {
    const char* const colon = std::strchr(line.data(), ':');
    if (colon != nullptr &&
        std::strncmp(line.data(), migrations_name, std::strlen(migrations_name)) == 0) {
      found = std::strtoll(colon + 1, nullptr, 10);
    }
  }
  std::fclose(file);
  return found;
}

std::optional<std::int64_t> migrations_so_far() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) {
    return std::nullopt;
  }
  std::optional<std::int64_t> sum;
  while (const dirent* const task = readdir(tasks)) {
    const std::string path = std::string("/proc/self/task/") + task->d_name + "/sched";
    if (const auto one = migrations_of(path)) {
      sum = sum.value_or(0) + *one;
    }
  }
  closedir(tasks);
  return sum;
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

}  // namespace

usage usage_so_far() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return {seconds(u.ru_utime), seconds(u.ru_stime), u.ru_nvcsw,         u.ru_nivcsw,
          u.ru_minflt,         u.ru_majflt,         migrations_so_far()};
}

void add_usage(lockwright::programs::json_line& line, const usage& before, const usage& after) {
  line.field("processor_seconds", after.processor_seconds() - before.processor_seconds())
      .field("system_seconds", after.system_seconds - before.system_seconds)
      .field("voluntary", after.voluntary - before.voluntary)
      .field("involuntary", after.involuntary - before.involuntary)
      .field("minor_faults", after.minor_faults - before.minor_faults)
      .field("major_faults", after.major_faults - before.major_faults);
  if (before.migrations && after.migrations) {
    line.field("migrations", *after.migrations - *before.migrations);
  }
}

}  // namespace bench
