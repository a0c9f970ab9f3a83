// A hash map under one mutex. Each thread uses some keys again and again, and changes them slowly.
#include <random>
#include <unordered_map>

#include "catalogue.hpp"
#include "key_set.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct one_map : with_one_mutex {
  explicit one_map(const settings& given) {
    const auto keys = static_cast<int>(given.count("keys", 1));
    map.reserve(static_cast<std::size_t>(keys));
    for (int key = 0; key < keys; ++key) {
      map.emplace(key, 0);
    }
  }

  struct alignas(cache_line_pair) thread_state {
    thread_state(one_map& /*w*/, const settings& given, std::size_t index)
        : random{static_cast<std::mt19937::result_type>(index)},
          keys{given, random},
          gap{given.count("gap-steps")} {}
    std::mt19937 random;
    key_set keys;
    std::uint64_t gap;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    me.random.discard(me.gap);
    meter.lock(shared);
    ++map[me.keys.draw(me.random)];
    ++updates;
    meter.unlock(shared);
    return 1;
  }

  [[nodiscard]] std::string find_fault(const totals& all) const {
    return updates == all.operations ? "" : "updates of the map were lost";
  }

  // Guarded by the mutex.
  alignas(cache_line_pair) std::unordered_map<int, int> map;
  std::uint64_t updates = 0;
};

}  // namespace

const description keymap{
    .name = "keymap",
    .measures = "threads that update a shared map under a mutex, each mostly at keys of its own",
    .source = "Dice, Malthusian Locks, EuroSys 2017, keymap, figure 11",
    .operation = "updates",
    .threads = 2,
    .parameters = {{"keys", 10'000'000, "", "keys of the map, all of them in it from the start", 1},
                   {"set-size", 1000, "", "keys that a thread uses", 1},
                   {"replace-share", 0.1, "", "share of the updates that take another key instead"},
                   {"gap-steps", 1000, "", "steps of a Mersenne twister between two updates"}},
    .one_mutex = true,
    .run = run_workload<one_map>,
};

}  // namespace bench
