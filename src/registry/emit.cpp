// Prints the registry as JSON: the traits of each algorithm, with sizes from the compiled types.
// The build installs it as locks.json.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "lockwright/env/native.hpp"
#include "lockwright/registry.hpp"
#include "lockwright/rwlock_uses.hpp"
#include "lockwright/rwrows.hpp"

namespace {

using lockwright::native;

// The space for a lock inside a pthread_mutex_t. It does not limit the C library's own mutex.
constexpr std::uint32_t in_place_limit = 16;
// The same inside a pthread_rwlock_t, see preload/replaced_rwlock.hpp.
constexpr std::uint32_t rwlock_in_place_limit = 24;

const char* name_of(lockwright::category category) {
  switch (category) {
    case lockwright::category::library:
      return "library";
    case lockwright::category::competitive_succession:
      return "competitive succession";
    case lockwright::category::direct_handoff:
      return "direct handoff";
    case lockwright::category::hierarchical:
      return "hierarchical";
    case lockwright::category::load_control:
      return "load control";
  }
  return "";
}

const char* name_of(lockwright::waiting waiting) {
  switch (waiting) {
    case lockwright::waiting::spin:
      return "spin";
    case lockwright::waiting::spin_backoff:
      return "spin with backoff";
    case lockwright::waiting::spin_then_park:
      return "spin then park";
    case lockwright::waiting::park:
      return "park";
  }
  return "";
}

const char* name_of(lockwright::realtime realtime) {
  switch (realtime) {
    case lockwright::realtime::by_priority:
      return "by priority";
    case lockwright::realtime::own_order:
      return "own order";
    case lockwright::realtime::starves:
      return "starves";
  }
  return "";
}

const char* name_of(lockwright::preference preference) {
  switch (preference) {
    case lockwright::preference::readers:
      return "readers";
    case lockwright::preference::writers:
      return "writers";
    case lockwright::preference::fifo:
      return "FIFO";
    case lockwright::preference::alternating:
      return "alternating";
    case lockwright::preference::none:
      return "none";
  }
  return "";
}

const char* name_of(lockwright::use_case when) {
  switch (when) {
    case lockwright::use_case::none:
      return "";
    case lockwright::use_case::crowded:
      return "crowded";
    case lockwright::use_case::trylock_loop:
      return "trylock loop";
    case lockwright::use_case::memory_contention:
      return "memory contention";
    case lockwright::use_case::extreme_contention:
      return "extreme contention";
    case lockwright::use_case::high_contention:
      return "high contention";
    case lockwright::use_case::private_mutexes:
      return "private mutexes";
    case lockwright::use_case::low_contention:
      return "low contention";
  }
  return "";
}

const char* name_of(lockwright::rwlock_use_case when) {
  switch (when) {
    case lockwright::rwlock_use_case::none:
      return "";
    case lockwright::rwlock_use_case::crowded:
      return "crowded";
    case lockwright::rwlock_use_case::starved_writers:
      return "starved writers";
    case lockwright::rwlock_use_case::mostly_read:
      return "mostly read";
    case lockwright::rwlock_use_case::read_and_written:
      return "read and written";
  }
  return "";
}

const char* name_of(lockwright::unit unit) {
  switch (unit) {
    case lockwright::unit::count:
      return "";
    case lockwright::unit::nanoseconds:
      return "ns";
    case lockwright::unit::turns:
      return "iterations of an empty loop";
    case lockwright::unit::one_in:
      return "one in";
  }
  return "";
}

const char* text(bool value) { return value ? "true" : "false"; }

void emit(const char* lock, const lockwright::tunable& each) {
  std::printf("{\"name\": \"%s\", \"variable\": \"%s\", \"default\": %llu, \"unit\": \"%s\", ",
              each.name, lockwright::native_env::variable_name{lock, each.name}.text(),
              static_cast<unsigned long long>(each.default_value), name_of(each.counted_in));
  std::printf("\"least\": %llu, \"most\": %llu, \"meaning\": \"%s\", \"source\": \"%s\"}",
              static_cast<unsigned long long>(each.min), static_cast<unsigned long long>(each.max),
              each.meaning, each.source);
}

template <class L>
void emit_tunables(const char* lock) {
  if constexpr (requires { L::tunables; }) {
    const char* separator = "";
    for (const lockwright::tunable* each : L::tunables) {
      std::printf("%s\n   ", separator);
      emit(lock, *each);
      separator = ",";
    }
  }
}

template <class Suitability>
void emit(const Suitability (&cases)[4]) {
  const char* separator = "";
  for (const Suitability& each : cases) {
    if (*each.why != '\0') {
      std::printf("%s\n   {\"case\": \"%s\", \"rank\": %u, \"why\": \"%s\"}", separator,
                  name_of(each.when), each.rank, each.why);
      separator = ",";
    }
  }
}

template <class L>
void emit(const char* name, const char* header, bool first) {
  static_assert(lockwright::TryLock<L>);
  static_assert(L::traits.category == lockwright::category::library || sizeof(L) <= in_place_limit);
  constexpr lockwright::lock_traits traits = L::traits;
  static_assert(traits.parks() || traits.realtime != lockwright::realtime::own_order,
                "a waiter that only polls keeps a holder of lower priority off the processor");
  std::printf("%s\n {\"name\": \"%s\", \"header\": \"%s\",\n", first ? "" : ",", name, header);
  std::printf("  \"category\": \"%s\", \"waiting\": \"%s\", \"realtime\": \"%s\",\n",
              name_of(traits.category), name_of(traits.waiting), name_of(traits.realtime));
  std::printf(
      "  \"fifo\": %s, \"light\": %s, \"parking\": %s, \"numa_aware\": %s, \"hardened_trylock\": "
      "%s, \"trylock\": \"nonblocking\",\n",
      text(traits.fifo), text(traits.light), text(traits.parks()), text(traits.numa_aware),
      text(traits.hardened_trylock));
  std::printf(
      "  \"bytes_in_place\": %zu, \"bytes_per_mutex_outside\": %llu, \"bytes_per_node\": %u,\n",
      sizeof(L), static_cast<unsigned long long>(lockwright::bytes_outside<L>()),
      traits.node_bytes);
  std::printf(
      "  \"yields\": %s, \"low_traffic\": %s, \"survives_oversubscription\": %s, \"atomics\": [%u, "
      "%u],\n",
      text(traits.yields), text(traits.low_traffic),
      text(traits.survives_oversubscription || traits.parks()), traits.atomics.lock,
      traits.atomics.unlock);
  std::printf("  \"suits\": [");
  emit(traits.suits.all);
  std::printf("],\n");
  std::printf("  \"is_default\": %s, \"patents\": \"%s\",\n", text(traits.is_default),
              traits.patents);
  std::printf("  \"timedlock\": \"%s\",\n", lockwright::is_abortable<L> ? "abortable" : "handover");
  std::printf("  \"tunables\": [");
  emit_tunables<L>(name);
  std::printf("],\n  \"reference\": \"%s\",\n  \"summary\": \"%s\"}", traits.reference,
              traits.summary);
}

template <class L>
void emit_rwlock(const char* name, const char* header, bool first) {
  static_assert(lockwright::RwLock<L>);
  static_assert(sizeof(L) <= rwlock_in_place_limit);
  constexpr lockwright::rwlock_traits traits = L::traits;
  std::printf("%s\n {\"name\": \"%s\", \"header\": \"%s\",\n", first ? "" : ",", name, header);
  std::printf("  \"preference\": \"%s\", \"waiting\": \"%s\", \"parking\": %s,\n",
              name_of(traits.preference), name_of(traits.waiting), text(traits.parks()));
  std::printf("  \"distributed_readers\": %s, \"numa_aware\": %s,\n",
              text(traits.distributed_readers), text(traits.numa_aware));
  std::printf(
      "  \"bytes_in_place\": %zu, \"bytes_per_lock_outside\": %llu, \"bytes_per_node\": %u,\n",
      sizeof(L), static_cast<unsigned long long>(lockwright::bytes_outside<L>()),
      traits.node_bytes);
  std::printf("  \"use_cases\": [");
  emit(lockwright::uses_of<L>().cases);
  std::printf("],\n  \"suits\": \"%s\", \"patents\": \"%s\",\n", traits.suits, traits.patents);
  std::printf("  \"tunables\": [");
  emit_tunables<L>(name);
  std::printf("],\n  \"reference\": \"%s\",\n  \"summary\": \"%s\"}", traits.reference,
              traits.summary);
}

}  // namespace

// The argument `bench` prints the algorithms for measurements only, `rwlocks` the reader-writer locks.
int main(int count, char** arguments) {
  const char* which = count > 1 ? arguments[1] : "";
  [[maybe_unused]] const bool bench = std::strcmp(which, "bench") == 0;
  const bool mutexes = *which == '\0';
  bool first = true;
  std::printf("[");
#define LOCKWRIGHT_ANY_LOCK(wanted, name, identifier, header)         \
  if (wanted) {                                                       \
    emit<lockwright::identifier##_lock<native>>(name, header, first); \
    first = false;                                                    \
  }
#define LOCKWRIGHT_LOCK(name, identifier, header, ...) \
  LOCKWRIGHT_ANY_LOCK(mutexes, name, identifier, header)
#define LOCKWRIGHT_BENCH_LOCK(name, identifier, header, ...) \
  LOCKWRIGHT_ANY_LOCK(bench, name, identifier, header)
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
#define LOCKWRIGHT_RWLOCK(name, identifier, header, ...)                     \
  if (std::strcmp(which, "rwlocks") == 0) {                                  \
    emit_rwlock<lockwright::identifier##_lock<native>>(name, header, first); \
    first = false;                                                           \
  }
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
  std::printf("\n]\n");
  return std::ferror(stdout) != 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
