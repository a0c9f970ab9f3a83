#include "catalogue.hpp"

#include "../bench.hpp"
#include "settings.hpp"

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
  for (const preset& p : w.presets) {
    result(w.name, "preset")
        .field("name", std::string_view(p.name))
        .field("values", std::string_view(p.values))
        .field("meaning", std::string_view(p.meaning))
        .print();
  }
  for (const figure& f : w.figures) {
    result(w.name, "figure")
        .field("field", std::string_view(f.field))
        .field("heading", std::string_view(f.heading))
        .field("meaning", std::string_view(f.meaning))
        .field("lower_is_better", std::uint64_t{f.lower_is_better})
        .print();
  }
}

}  // namespace

const std::vector<const description*>& catalogue() {
  static const std::vector<const description*> all = {
      &uncontested,       &single_lock,   &lockbench,      &variable_contention,
      &random_array,      &ring_walker,   &stress_latency, &malloc_stress,
      &producer_consumer, &keymap,        &lru_cache,      &buffer_pool,
      &trylock_wait,      &barrier,       &many_locks,     &convoy,
      &ping_pong,         &migration,     &lazy_list_set,  &hash_set,
      &copy_on_write,     &futex_latency, &sleep_period,   &waiting,
      &sleep_quota,
  };
  return all;
}

int describe() {
  for (const parameter& p : common_parameters()) {
    print_parameter("", p);
  }
  for (const description* w : catalogue()) {
    print_workload(*w);
  }
  return 0;
}

}  // namespace bench
