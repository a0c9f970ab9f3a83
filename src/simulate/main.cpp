// lockwright-simulate: one workload under one lock or reader-writer lock on one simulated machine.
//
//   lockwright-simulate run --machine FILE --lock NAME --workload NAME [--threads N] [--seconds S]
//                           [--seed N] [--load FILE.so] [--trace FILE] [--parameter value]...
//                           [--model FILE] [--rwlock NAME]
//   lockwright-simulate list        the locks and workloads of this build, as JSON lines
//
// A run prints one JSON object. The status is 1 where the lock is broken, 2 for a bad request.
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../programs/json_line.hpp"
#include "../programs/settings.hpp"
#include "lock_entry.hpp"
#include "machine.hpp"
#include "main_thread.hpp"
#include "report.hpp"
#include "rwlocks.hpp"
#include "simulation.hpp"
#include "site.hpp"
#include "trace.hpp"
#include "workload.hpp"

namespace lockwright::simulate {

// One source file each, which the build writes.
#define LOCKWRIGHT_LOCK(name, identifier, ...) extern const lock_entry& entry_##identifier;
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK

namespace {

/// More than a program has, and few enough for their stacks to have room in the arena.
constexpr std::uint64_t most_threads = 65'536;

const std::vector<programs::parameter>& common_parameters() {
  static const std::vector<programs::parameter> all{
      {"threads", 2, "", "threads"},
      {"seconds", 0.01, "s", "simulated seconds that are measured"},
      {"warm-up", 0.001, "s", "simulated seconds before that"},
      {"seed", 1, "", "of all random numbers"},
      {"window", 1000, "", "acquisitions for which the threads are counted (LWSS)"},
      {"spread", 0, "", "1: threads begin on all nodes in turn; 0: node after node"},
      {"balanced", 0, "",
       "1: threads beyond one for each processor begin on all in turn; 0: randomly"},
      {"main-thread", 0, "",
       "1: a further thread wakes the others at a gate, and wakes up when the measurement begins"},
      {"interrupt-every", 0, "",
       "steps of a thread until one of up to 20 us comes in between; 0: none"},
      {"data-lines", 1, "", "cache lines that a section changes"},
  };
  return all;
}

std::vector<const lock_entry*> locks() {
  return {
#define LOCKWRIGHT_LOCK(name, identifier, ...) &entry_##identifier,
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
  };
}

const void* loaded(const std::string& path, const char* symbol) {
  void* const library = dlopen(path.c_str(), RTLD_NOW);
  const void* const entry = library == nullptr ? nullptr : dlsym(library, symbol);
  if (entry == nullptr) {
    refuse(std::string("cannot load the lock: ") + dlerror() +
           "; 'lockwright simulate HEADER' makes it");
  }
  return entry;
}

template <class Entry>
const Entry& find_named(const std::string& name, const std::vector<const Entry*>& all) {
  for (const Entry* one : all) {
    if (name == one->name) {
      return *one;
    }
  }
  refuse("no lock '" + name + "'; 'lockwright-simulate list' shows them");
}

const lock_entry& lock_named(const std::string& name) { return find_named(name, locks()); }

/// The lock that the options name: one of `all`, or `symbol` of the library to load.
template <class Entry>
const Entry& find_lock(const programs::settings& given, const std::vector<const Entry*>& all,
                       const char* symbol) {
  if (!given.text("load").empty()) {
    return *static_cast<const Entry*>(loaded(given.text("load"), symbol));
  }
  return find_named(given.text("lock"), all);
}

const simulated_workload& find_workload(const std::string& name) {
  for (const simulated_workload& one : catalogue()) {
    if (name == one.about->name) {
      return one;
    }
  }
  refuse("no workload '" + name + "'; 'lockwright-simulate list' shows them");
}

void list_name(const char* kind, const char* name) {
  programs::json_line line;
  line.field("kind", std::string_view(kind)).field("name", std::string_view(name));
  line.print();
}

int list() {
  for (const lock_entry* one : locks()) {
    list_name("lock", one->name);
  }
  for (const rwlock_entry* one : rwlocks()) {
    list_name("rwlock", one->name);
  }
  for (const simulated_workload& workload : catalogue()) {
    const workloads::description& one = *workload.about;
    programs::json_line line;
    line.field("kind", std::string_view("workload"))
        .field("name", std::string_view(one.name))
        .field("measures", std::string_view(one.measures))
        .field("locks", std::string_view(one.of_rwlocks ? "rwlocks" : "locks"));
    line.print();
    for (const programs::parameter& p : one.parameters) {
      programs::json_line about;
      about.field("kind", std::string_view("parameter"))
          .field("workload", std::string_view(one.name))
          .field("name", std::string_view(p.name))
          .field("initial", p.initial)
          .field("meaning", std::string_view(p.meaning));
      about.print();
    }
  }
  return 0;
}

/// Where thread `index` begins: node after node, or on all nodes in turn. Where all processors have
/// one, on a random one: Linux's first wake-ups left six of eight threads on one of two processors;
/// or evenly, as Linux's load balancing leaves them within a second.
std::uint32_t first_processor(const machine& on, std::uint64_t index,
                              const programs::settings& given, random_source& random) {
  const bool in_turn = index < on.processors() || given.count("balanced") != 0;
  const auto place =
      static_cast<std::uint32_t>(in_turn ? index % on.processors() : random.below(on.processors()));
  if (given.count("spread") == 0) {
    return place;
  }
  const std::uint32_t per_node = on.cores() / on.nodes();
  const std::uint32_t core = place % on.cores();
  return place - core + core % on.nodes() * per_node + core / on.nodes();
}

picoseconds seconds(const programs::settings& given, const char* name) {
  constexpr double longest = 100;
  const double value = given.real(name);
  if (value > longest) {
    refuse(std::string("'--") + name + "' is above 100 s of simulated time; give less");
  }
  return static_cast<picoseconds>(std::llround(value * 1e12));
}

int run(programs::settings given) {
  const std::string name = given.text("workload");
  const simulated_workload& chosen = find_workload(name);
  const workloads::description& about = *chosen.about;
  given.add(common_parameters());
  given.add(about.parameters);
  given.complete();
  const lock_entry* lock = nullptr;
  const rwlock_entry* rwlock = nullptr;
  if (about.of_rwlocks) {
    rwlock = &find_lock(given, rwlocks(), "lockwright_simulated_rwlock");
  } else {
    lock = &find_lock(given, locks(), "lockwright_simulated_lock");
    const std::string of_readers = given.text("rwlock");
    rwlock = &find_named(of_readers.empty() ? "pthread" : of_readers, rwlocks());
  }
  const std::uint64_t threads = given.count("threads");
  if (threads == 0 || threads > most_threads) {
    refuse("'--threads' has to be 1 to 65536");
  }
  machine on;
  on.read(given.text("machine").c_str());
  const picoseconds warm_up = seconds(given, "warm-up");
  const picoseconds length = seconds(given, "seconds");
  // Never destroyed: what a lock has in simulated memory stays.
  auto& in = *new simulation(on, given.count("seed"));
  in.interrupt_every = given.count("interrupt-every");
  record recorded;
  rw_record readers_and_writers;
  trace timeline(on);
  const bool shows = !given.text("trace").empty();
  random_source setup(given.count("seed"));
  const std::unique_ptr<workload> work =
      chosen.make({in, lock, rwlock, lock_named, given, setup, recorded, readers_and_writers,
                   shows ? &timeline : nullptr});

  outcome result{lock != nullptr ? lock->name : rwlock->name,
                 about.name,
                 given.count("seed"),
                 length,
                 given.count("window"),
                 {}};
  std::vector<std::uint64_t> done(threads + work->helpers());
  std::vector<std::uint64_t> before;
  in.on_phase = [&](bool begins) {
    if (begins) {
      before = done;
      return;
    }
    for (std::uint64_t i = 0; i < threads; ++i) {
      result.operations.push_back(done[i] - before[i]);
    }
  };
  bool has_released = false;
  std::optional<main_thread> starter;
  if (given.count("main-thread") != 0) {
    starter.emplace(in, static_cast<std::uint32_t>(done.size()), warm_up);
  }
  random_source placing(given.count("seed"));
  for (std::uint32_t i = 0; i < done.size(); ++i) {
    in.add(first_processor(on, i, given, placing), [&, i] {
      // Threads do not begin at the same time.
      constexpr picoseconds max_offset = 1'000'000;
      in.spend(in.caller()->random.below(max_offset));
      if (starter) {
        starter->pass();
      }
      while (!in.is_over()) {
        done[i] += work->step(i);
      }
      if (!has_released) {
        has_released = true;
        work->release_waiters();
      }
    });
  }
  if (starter) {
    in.add(0, [&] { starter->run(); });
  }
  in.run(warm_up, length);
  const std::uint64_t operations = std::accumulate(
      done.begin(), done.begin() + static_cast<std::ptrdiff_t>(threads), std::uint64_t{0});
  if (const std::string wrong = work->find_fault(operations); !wrong.empty()) {
    fail("the lock is broken: " + wrong);
  }
  if (about.of_rwlocks) {
    print(result, in, readers_and_writers);
  } else {
    print(result, in, recorded);
  }
  if (shows) {
    timeline.write(given.text("trace"), result.workload + " under " + result.lock);
  }
  return 0;
}

}  // namespace
}  // namespace lockwright::simulate

int main(int argc, char** argv) {
  using namespace lockwright::simulate;
  const std::string_view verb = argc > 1 ? argv[1] : "";
  int status = 0;
  if (verb == "list") {
    status = list();
  } else if (verb == "run") {
    status = run(lockwright::programs::settings(
        argc - 2, argv + 2, {"machine", "lock", "rwlock", "load", "workload", "model", "trace"}));
  } else {
    refuse("say 'run' with options, or 'list'");
  }
  std::fflush(nullptr);
  // Without destructors: the locks in simulated memory are not taken down.
  std::_Exit(status);
}
