// A program with many quiet mutexes and two hot ones with different demands on the lock: a
// fixed amount of work in rounds of three phases, and the time that each phase takes.
//
//   phase    | threads | mutex  | what it needs
//   quiet    | all     | many   | each thread takes its own, one after the other: an uncontended
//            |         |        | lock costs little time and no memory
//   crowd    | all     | of_all | more threads than processors: few of them are active, and no
//            |         |        | holder is preempted
//   exchange | two     | of_two | one puts an item into a box and the other takes it out, both
//            |         |        | poll the box: they take turns
//
// The amounts favour no lock: in all three phases the mutexes are taken
// equally often for a section that changes one word, with no gap. Polling
// the box without finding work comes on top.
#include <pthread.h>

#include <deque>
#include <vector>

#include "smaps.hpp"
#include "workload/catalogue.hpp"
#include "workload/settings.hpp"

namespace bench {

// The names by which a plan selects them.
alignas(cache_line_pair) pthread_mutex_t mutex_of_all = PTHREAD_MUTEX_INITIALIZER;
alignas(cache_line_pair) pthread_mutex_t mutex_of_two = PTHREAD_MUTEX_INITIALIZER;

namespace {

struct quiet_mutex {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::uint64_t guarded = 0;
};

struct program {
  std::uint64_t threads;
  std::uint64_t processors;
  std::uint64_t rounds;
  std::uint64_t turns;  // of each thread, in a phase of all threads
  std::uint64_t items;
  std::vector<quiet_mutex> quiet;
  gate end{};
  pthread_barrier_t between_phases{};
  std::vector<std::uint64_t> phase_ends{};

  alignas(cache_line_pair) std::uint64_t guarded = 0;
  alignas(cache_line_pair) bool box_is_full = false;
  std::uint64_t taken = 0;
};

void lock(pthread_mutex_t& mutex) { must(pthread_mutex_lock(&mutex), "pthread_mutex_lock"); }
void unlock(pthread_mutex_t& mutex) { must(pthread_mutex_unlock(&mutex), "pthread_mutex_unlock"); }

void take_once(pthread_mutex_t& mutex, std::uint64_t& guarded) {
  lock(mutex);
  ++guarded;
  unlock(mutex);
}

void quiet_phase(program& all, std::uint64_t index) {
  const std::uint64_t begin = index * all.quiet.size() / all.threads;
  const std::uint64_t end = (index + 1) * all.quiet.size() / all.threads;
  for (std::uint64_t turn = 0, i = begin; turn < all.turns; ++turn) {
    take_once(all.quiet[i].mutex, all.quiet[i].guarded);
    i = i + 1 < end ? i + 1 : begin;
  }
}

void crowd_phase(program& all) {
  for (std::uint64_t turn = 0; turn < all.turns; ++turn) {
    take_once(mutex_of_all, all.guarded);
  }
}

void exchange_phase(program& all, bool puts) {
  for (std::uint64_t done = 0; done < all.items;) {
    lock(mutex_of_two);
    if (all.box_is_full != puts) {
      all.box_is_full = puts;
      all.taken += puts ? 0 : 1;
      ++done;
    }
    unlock(mutex_of_two);
  }
}

void end_phase(program& all) {
  const int which = pthread_barrier_wait(&all.between_phases);
  // The last thread to arrive does not sleep here.
  if (which == PTHREAD_BARRIER_SERIAL_THREAD) {
    all.phase_ends.push_back(now_ns());
  }
}

void work(program& all, std::uint64_t index) {
  for (std::uint64_t round = 0; round < all.rounds; ++round) {
    quiet_phase(all, index);
    end_phase(all);
    crowd_phase(all);
    end_phase(all);
    if (index < 2) {
      exchange_phase(all, index == 0);
    }
    end_phase(all);
  }
  all.end.pass();
}

void check(const program& all) {
  std::uint64_t quiet = 0;
  for (const quiet_mutex& each : all.quiet) {
    quiet += each.guarded;
  }
  const std::uint64_t each_phase = all.rounds * all.threads * all.turns;
  if (quiet != each_phase) {
    fail("two threads were inside a quiet mutex");
  }
  if (all.guarded != each_phase || all.taken != all.rounds * all.items) {
    fail("two threads were inside a hot mutex");
  }
}

int measure_phases(const description& /*about*/, const settings& given) {
  const std::uint64_t threads = given.count("threads", 2);
  const std::uint64_t times = given.count("times", 2 * threads);
  program all{.threads = threads,
              .processors = given.count("processors", 1),
              .rounds = given.count("rounds", 1),
              .turns = times / threads,
              .items = times / 2,  // each is put and taken
              .quiet = std::vector<quiet_mutex>(given.count("quiet", threads))};
  must(pthread_barrier_init(&all.between_phases, nullptr, static_cast<unsigned>(threads)),
       "pthread_barrier_init");
  std::deque<other_thread> workers;
  for (std::uint64_t i = 0; i < threads; ++i) {
    workers.emplace_back(static_cast<std::int64_t>(i % all.processors), [&, i] { work(all, i); });
  }
  all.phase_ends.reserve(3 * all.rounds);
  const std::int64_t bytes_before = anonymous_bytes();
  const double used_before = processor_seconds_so_far();
  const std::uint64_t began = now_ns();
  for (other_thread& each : workers) {
    each.start();
  }
  all.end.await(static_cast<std::uint32_t>(threads));
  const double used = processor_seconds_so_far() - used_before;
  const std::int64_t grown = anonymous_bytes() - bytes_before;
  const std::int64_t taken = taken_bytes();
  all.end.open();
  for (other_thread& each : workers) {
    each.join();
  }
  std::uint64_t phase_ns[3] = {};
  std::uint64_t last = began;
  for (std::size_t i = 0; i < all.phase_ends.size(); ++i) {
    phase_ns[i % 3] += all.phase_ends[i] - last;
    last = all.phase_ends[i];
  }
  check(all);
  result measured("quiet-and-hot", "measured");
  measured.field("began_ns", began)
      .field("seconds", static_cast<double>(last - began) / 1e9)
      .field("quiet_seconds", static_cast<double>(phase_ns[0]) / 1e9)
      .field("crowd_seconds", static_cast<double>(phase_ns[1]) / 1e9)
      .field("exchange_seconds", static_cast<double>(phase_ns[2]) / 1e9)
      .field("processor_seconds", used)
      .field("start_bytes", bytes_before)
      .field("grown_bytes", grown)
      .field("taken_bytes", taken);
  add_origin(measured);
  measured.print();
  return 0;
}

}  // namespace

const description quiet_and_hot{
    .name = "quiet-and-hot",
    .measures =
        "many mutexes with one thread each, one that all contend for, and one of two threads",
    .threads = 16,
    .parameters = {{"quiet", 4000, "", "mutexes with one thread each"},
                   {"processors", 2, "", "processors over which the threads are spread", 1},
                   {"rounds", 10, "", "of the three phases", 1},
                   {"times", 200'000, "", "acquisitions in each phase"}},
    .is_listed = false,
    .run = measure_phases,
};

}  // namespace bench
