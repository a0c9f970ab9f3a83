#include "catalogue.hpp"

#include "../../workload/conditions.hpp"
#include "../../workload/data.hpp"
#include "../../workload/many_mutexes.hpp"
#include "../../workload/rwlock.hpp"
#include "../../workload/single_mutex.hpp"
#include "../../workload/sleep_period.hpp"
#include "native.hpp"
#include "settings.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

void print_parameter(const char* workload, const parameter& p) {
  result line(workload, "parameter");
  line.field("name", std::string_view(p.name))
      .field("initial", p.initial)
      .field("least", p.least)
      .field("unit", std::string_view(p.unit))
      .field("meaning", std::string_view(p.meaning));
  if (p.words != nullptr) {
    line.field("words", std::string_view(p.words));
  }
  line.print();
}

void print_workload(const description& w) {
  result(w.name, "workload")
      .field("measures", std::string_view(w.measures))
      .field("source", std::string_view(w.source))
      .field("operation", std::string_view(w.operation))
      .field("threads", w.threads)
      .field("one_mutex", std::uint64_t{w.one_mutex})
      .field("uses_lock", std::uint64_t{w.uses_lock})
      .print();
  for (const parameter& p : w.parameters) {
    print_parameter(w.name, p);
  }
  for (const lockwright::workloads::preset& p : w.presets) {
    result(w.name, "preset")
        .field("name", std::string_view(p.name))
        .field("values", std::string_view(p.values))
        .field("meaning", std::string_view(p.meaning))
        .print();
  }
  for (const lockwright::workloads::figure& f : w.figures) {
    result(w.name, "figure")
        .field("field", std::string_view(f.field))
        .field("heading", std::string_view(f.heading))
        .field("meaning", std::string_view(f.meaning))
        .field("lower_is_better", std::uint64_t{f.lower_is_better})
        .print();
  }
}

// A workload of src/workload, which runs as `Workload`.
template <class Workload>
const description* on_posix(const description& about) {
  static const description here = [&] {
    description copy = about;
    copy.run = run_workload<Workload>;
    return copy;
  }();
  return &here;
}

}  // namespace

const std::vector<const description*>& catalogue() {
  using namespace lockwright::workloads;
  static const std::vector<const description*> all = {
      on_posix<lone_sections<posix>>(uncontested),
      on_posix<equal_sections<posix>>(single_lock),
      on_posix<drawn_sections<posix>>(lockbench),
      on_posix<drawn_mutexes<posix>>(variable_contention),
      on_posix<two_sets<posix, array>>(random_array),
      on_posix<two_sets<posix, ring>>(ring_walker),
      &stress_latency,
      &malloc_stress,
      on_posix<bounded_queue<posix>>(producer_consumer),
      on_posix<keyed<posix, key_map>>(keymap),
      on_posix<keyed<posix, key_cache>>(lru_cache),
      &buffer_pool,
      on_posix<tried_sections<posix>>(trylock_wait),
      on_posix<cond_barrier<posix>>(barrier),
      on_posix<short_lived<posix>>(many_locks),
      on_posix<held_up<posix>>(convoy),
      on_posix<thread_pairs<posix>>(ping_pong),
      on_posix<moving<posix>>(migration),
      &lazy_list_set,
      &hash_set,
      &copy_on_write,
      &futex_latency,
      on_posix<waker_and_sleeper<posix>>(sleep_period),
      &waiting,
      &sleep_quota,
      &footprint,
      &handover,
      &herd,
      &object_wait,
      &oversubscribe,
      &quiet_and_hot,
      &regimes,
      on_posix<readers_and_writers<posix>>(rwlock),
  };
  return all;
}

int describe() {
  for (const parameter& p : common_parameters()) {
    print_parameter("", p);
  }
  for (const description* w : catalogue()) {
    if (w->is_listed) {
      print_workload(*w);
    }
  }
  return 0;
}

}  // namespace bench
