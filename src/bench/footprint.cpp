// What a mutex costs in memory beyond the object the program itself allocated.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "bench.hpp"

namespace bench {
namespace {

char report[4096];

// Resident bytes of the process, exact to the page: smaps_rollup walks the page tables, where
// statm may read per-CPU counters that have not been folded in yet.
std::int64_t resident_bytes() {
  const int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fail(std::string("cannot read /proc/self/smaps_rollup: ") + std::strerror(errno));
  }
  const ssize_t length = read(fd, report, sizeof report - 1);
  close(fd);
  report[length < 0 ? 0 : length] = '\0';
  const char* rss = std::strstr(report, "Rss:");
  if (rss == nullptr) {
    fail("/proc/self/smaps_rollup has no Rss line");
  }
  return std::strtoll(rss + 4, nullptr, 10) * 1024;
}

void lock_each(pthread_mutex_t* from, pthread_mutex_t* end) {
  for (pthread_mutex_t* m = from; m != end; ++m) {
    must(pthread_mutex_lock(m), "pthread_mutex_lock");
    must(pthread_mutex_unlock(m), "pthread_mutex_unlock");
  }
}

}  // namespace

int footprint(int argc, char** argv) {
  const options given(argc, argv, {{"mutexes", 1000000}, {"warm", 1000}});
  const std::uint64_t mutexes = given.count("mutexes", 2);
  const std::uint64_t warm = given.count("warm", 1);
  if (warm >= mutexes) {
    refuse("'--warm' is not below '--mutexes'; give it a smaller number");
  }
  const std::size_t bytes = mutexes * sizeof(pthread_mutex_t);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fail(std::string("cannot map the mutexes: ") + std::strerror(errno));
  }
  // Zero is what PTHREAD_MUTEX_INITIALIZER consists of; writing it makes every page of the
  // array resident, so that the program's own memory cannot grow later.
  std::memset(memory, 0, bytes);
  auto* const first = static_cast<pthread_mutex_t*>(memory);

  // The first reading brings in what reading itself needs; it is thrown away.
  resident_bytes();
  const std::int64_t before = resident_bytes();
  lock_each(first, first + warm);
  const std::int64_t after_warm = resident_bytes();
  lock_each(first + warm, first + mutexes);
  const std::int64_t after_all = resident_bytes();

  // The library's fixed cost (its code and its first blocks) falls into the first part, so the
  // second part is what mutexes cost and nothing else.
  const std::int64_t growth = after_all - after_warm;
  result line("footprint", "result");
  line.field("mutexes", mutexes)
      .field("warm", warm)
      .field("array_bytes", static_cast<std::uint64_t>(bytes))
      .field("fixed_bytes", after_warm - before)
      .field("growth_bytes", growth)
      .field("bytes_per_mutex", static_cast<double>(growth) / static_cast<double>(mutexes - warm));
  add_origin(line);
  line.print();
  return 0;
}

}  // namespace bench
