// The cost of an uncontended lock: one thread locks and unlocks repeatedly.
#include <algorithm>
#include <vector>

#include "probes.hpp"

namespace bench {
namespace {

struct alignas(cache_line_pair) lone_mutex {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};
lone_mutex lone;

std::atomic<std::uint32_t> forever{0};

void* sleep_for_ever(void* at) {
  static_cast<gate*>(at)->pass();
  for (;;) {
    futex_wait(forever, 0);
  }
  return nullptr;
}

}  // namespace

int uncontended(const options& given) {
  const std::uint64_t batch = given.count("batch", 1);
  const std::uint64_t batches = given.count("batches", 1);
  const std::uint64_t others = given.count("threads-alive");

  // While a process has one thread, the C library may take its mutexes without an atomic
  // instruction. A program that needs mutexes has more, so sleeping threads are made first.
  static gate started;
  for (std::uint64_t i = 0; i < others; ++i) {
    pthread_t thread;
    must(pthread_create(&thread, nullptr, sleep_for_ever, &started), "pthread_create");
    must(pthread_detach(thread), "pthread_detach");
  }
  started.await(static_cast<std::uint32_t>(others));
  started.open();

  must(pthread_mutex_lock(&lone.mutex), "pthread_mutex_lock");
  must(pthread_mutex_unlock(&lone.mutex), "pthread_mutex_unlock");

  std::vector<double> pair_ns;
  pair_ns.reserve(batches);
  int errors = 0;
  for (std::uint64_t b = 0; b < batches; ++b) {
    const std::uint64_t start = now_ns();
    for (std::uint64_t i = 0; i < batch; ++i) {
      errors |= pthread_mutex_lock(&lone.mutex);
      errors |= pthread_mutex_unlock(&lone.mutex);
    }
    pair_ns.push_back(static_cast<double>(now_ns() - start) / static_cast<double>(batch));
  }
  must(errors, "pthread_mutex_lock or pthread_mutex_unlock");

  std::sort(pair_ns.begin(), pair_ns.end());
  result line("uncontended", "result");
  line.field("pairs", batch * batches)
      .field("threads_alive", others + 1)
      .field("min_ns_per_pair", pair_ns.front())
      .field("median_ns_per_pair", pair_ns[pair_ns.size() / 2]);
  add_origin(line);
  line.print();
  return 0;
}

}  // namespace bench
