// The memory that a mutex needs beyond the object that the program allocated.
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "smaps.hpp"
#include "workload/catalogue.hpp"
#include "workload/settings.hpp"

namespace bench {
namespace {

void lock_each(pthread_mutex_t* from, pthread_mutex_t* end) {
  for (pthread_mutex_t* m = from; m != end; ++m) {
    must(pthread_mutex_lock(m), "pthread_mutex_lock");
    must(pthread_mutex_unlock(m), "pthread_mutex_unlock");
  }
}

// More than any lock's calls need, so that no stack grows during the measurement.
constexpr std::size_t stack_bytes = 16384;
// Time for a thread that has announced itself to find the mutex held and to go to sleep.
constexpr std::uint64_t settle_ns = 100'000;

// A thread that runs its next step when the main thread opens a gate.
struct stepped_thread {
  gate start;
  gate reported;
  gate continued;
  pthread_mutex_t* mutex;
  pthread_mutex_t* from;
  pthread_mutex_t* end;
  pthread_t thread;
};

void touch_stack() {
  char room[stack_bytes];
  std::memset(room, 0, sizeof room);
  asm volatile("" : : "r"(room) : "memory");
}

void* run_steps(void* at) {
  stepped_thread& self = *static_cast<stepped_thread*>(at);
  touch_stack();
  self.start.pass();
  // The main thread holds it now.
  must(pthread_mutex_lock(self.mutex), "pthread_mutex_lock");
  must(pthread_mutex_unlock(self.mutex), "pthread_mutex_unlock");
  self.reported.pass();
  lock_each(self.from, self.end);
  self.continued.pass();
  return nullptr;
}

// Each thread in turn waits for the mutex, while the main thread holds it, and gets it.
void await_each(std::vector<stepped_thread>& workers, pthread_mutex_t* mutex) {
  for (stepped_thread& one : workers) {
    must(pthread_mutex_lock(mutex), "pthread_mutex_lock");
    one.start.open();
    sleep_ns(settle_ns);
    must(pthread_mutex_unlock(mutex), "pthread_mutex_unlock");
    one.reported.await(1);
  }
}

// Lets the thread run its next step.
void run_next_step(stepped_thread& one) {
  one.reported.open();
  one.continued.await(1);
}

int measure_footprint(const description& /*about*/, const settings& given) {
  const std::uint64_t mutexes = given.count("mutexes", 2);
  const std::uint64_t warm = given.count("warm", 1);
  const std::uint64_t threads = given.count("threads", 1);
  const std::uint64_t sharers = given.count("sharers", 2);
  if (sharers > threads) {
    refuse("'--sharers' is above '--threads'; give it a smaller number");
  }
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

  // The first reading maps the memory that reading itself needs; its result is not used.
  resident_bytes();
  const std::int64_t before = resident_bytes();
  lock_each(first, first + warm);
  const std::int64_t after_warm = resident_bytes();
  lock_each(first + warm, first + mutexes);
  const std::int64_t after_all = resident_bytes();

  // The library's fixed cost (its code and its first blocks) falls into the first part, so the
  // second part is the cost of mutexes alone.
  const std::int64_t growth = after_all - after_warm;

  static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
  std::vector<stepped_thread> workers(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    workers[i].mutex = &shared;
    workers[i].from = first;
    workers[i].end = i < sharers ? first + mutexes : first;
    must(pthread_create(&workers[i].thread, nullptr, run_steps, &workers[i]), "pthread_create");
  }
  for (stepped_thread& one : workers) {
    one.start.await(1);
  }
  const std::int64_t before_threads = anonymous_bytes();
  await_each(workers, &shared);
  const std::int64_t after_threads = anonymous_bytes();
  run_next_step(workers.front());
  const std::int64_t after_second = anonymous_bytes();
  for (std::size_t i = 1; i < threads; ++i) {
    run_next_step(workers[i]);
  }
  const std::int64_t after_pairs = anonymous_bytes();
  for (stepped_thread& one : workers) {
    one.continued.open();
    must(pthread_join(one.thread, nullptr), "pthread_join");
  }

  const std::int64_t before_held = anonymous_bytes();
  for (pthread_mutex_t* m = first; m != first + mutexes; ++m) {
    must(pthread_mutex_lock(m), "pthread_mutex_lock");
  }
  const std::int64_t after_held = anonymous_bytes();
  for (pthread_mutex_t* m = first; m != first + mutexes; ++m) {
    must(pthread_mutex_unlock(m), "pthread_mutex_unlock");
  }

  const auto all = static_cast<double>(mutexes);
  // Some locks grow when a second thread uses them: that is part of the mutex's cost.
  const std::int64_t shared_growth = after_second - after_threads;
  result line("footprint", "result");
  line.field("mutexes", mutexes)
      .field("warm", warm)
      .field("threads", threads)
      .field("sharers", sharers)
      .field("array_bytes", static_cast<std::uint64_t>(bytes))
      .field("fixed_bytes", after_warm - before)
      .field("growth_bytes", growth)
      .field("shared_growth_bytes", shared_growth)
      .field("bytes_per_mutex", static_cast<double>(growth) / static_cast<double>(mutexes - warm) +
                                    static_cast<double>(shared_growth) / all)
      .field("bytes_per_thread",
             static_cast<double>(after_threads - before_threads) / static_cast<double>(threads))
      .field("bytes_per_pair", static_cast<double>(after_pairs - after_second) /
                                   (all * static_cast<double>(sharers - 1)))
      .field("bytes_per_held", static_cast<double>(after_held - before_held) / all);
  add_origin(line);
  line.print();
  return 0;
}

}  // namespace

const description footprint{
    .name = "footprint",
    .measures = "memory per mutex, per thread, and per pair of them",
    .threads = 500,
    .parameters = {{"mutexes", 1000000, "", "mutexes of the array", 2},
                   {"warm", 1000, "", "those that are taken before the growth counts", 1},
                   {"sharers", 16, "", "threads that take each of them", 2}},
    .is_listed = false,
    .run = measure_footprint,
};

}  // namespace bench
