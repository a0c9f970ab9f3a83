#include "plan.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "clock.hpp"
#include "dice.hpp"

namespace torture {
namespace {

// "crowd" twice, because it finds the most.
constexpr const char* all_kinds[] = {"crowd",     "churn", "crowd", "rings", "herd",
                                     "producers", "forks", "order", "reuse", "memory"};
// Runs only if it is named, since it tests another kind of lock.
constexpr const char* readers_kind = "readers";
constexpr const char* disturbances[] = {"stutter", "shuffle", "stops", "signals"};

constexpr int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                         PTHREAD_MUTEX_ADAPTIVE_NP};

// With more polling threads than processors, a queue hands the lock to threads that are not
// running; with more than this number per processor there would be little progress.
constexpr std::uint64_t polling_per_processor = 2;
constexpr std::uint64_t sleeping_per_processor = 64;

// Few as often as many: the number of digits is drawn.
std::uint64_t crowd_size(dice& draw, std::uint64_t most) {
  std::uint64_t size = 2;
  while (size < most && !draw.one_in(4)) {
    size *= 2;
  }
  return std::min(std::max<std::uint64_t>(2, draw.between(size / 2, size)), most);
}

bool in(const char* const* begin, const char* const* end, const std::string& word) {
  return std::find(begin, end, word) != end;
}

}  // namespace

const char* type_name(int type) {
  switch (type) {
    case PTHREAD_MUTEX_RECURSIVE:
      return "recursive";
    case PTHREAD_MUTEX_ERRORCHECK:
      return "errorcheck";
    case PTHREAD_MUTEX_ADAPTIVE_NP:
      return "adaptive";
    default:
      return "normal";
  }
}

bool is_part(const std::string& word) {
  return word == readers_kind || in(std::begin(all_kinds), std::end(all_kinds), word) ||
         in(std::begin(disturbances), std::end(disturbances), word);
}

std::string phase::description() const {
  std::string text = kind + ", " + std::to_string(threads) + " threads, " +
                     std::to_string(mutexes) + " " + type_name(type) +
                     (mutexes == 1 ? " mutex" : " mutexes");
  const std::pair<bool, const char*> extras[] = {{greedy, "no gaps"},
                                                 {stutter, "stutter"},
                                                 {shuffle, "shuffled processors"},
                                                 {stops, "stops"},
                                                 {signals, "signals"}};
  for (const auto& [present, name] : extras) {
    if (present) {
      text += std::string(", ") + name;
    }
  }
  return text;
}

plan::plan(const settings& given) : settings_{given} {
  for (const char* kind : all_kinds) {
    // Only the phases of `only` matter here, not disturbances.
    const bool promised = given.fifo || std::string(kind) != "order";
    if (promised && given.wants(kind)) {
      kinds_.emplace_back(kind);
    }
  }
  const auto& named = given.only;
  if (std::find(named.begin(), named.end(), readers_kind) != named.end()) {
    kinds_.emplace_back(readers_kind);
  }
  if (kinds_.empty()) {
    std::fputs("lockwright-torture: no phase is left; run 'lockwright-torture --help'\n", stderr);
    std::exit(2);
  }
}

phase plan::at(std::uint64_t number) const {
  // Each pass over all kinds has its own order.
  const std::uint64_t pass = number / kinds_.size();
  dice order(settings_.seed ^ (pass * 0xD1B54A32D192ED03u));
  std::vector<std::string> kinds = kinds_;
  for (std::size_t i = kinds.size(); i > 1; --i) {
    std::swap(kinds[i - 1], kinds[order.below(i)]);
  }

  phase drawn;
  drawn.number = number;
  drawn.kind = kinds[number % kinds.size()];
  dice draw(settings_.seed ^ ((number + 1) * 0xA24BAED4963EE407u));
  drawn.seed = draw.next();
  drawn.threads = crowd_size(
      draw, processors() * (settings_.parks ? sleeping_per_processor : polling_per_processor));
  drawn.mutexes = draw.between(1, 3);
  drawn.type = types[draw.below(std::size(types))];
  if (drawn.kind == "forks" && drawn.type != PTHREAD_MUTEX_ADAPTIVE_NP) {
    // With the C library, the child of a fork cannot unlock mutexes of the other types that it
    // holds.
    drawn.type = PTHREAD_MUTEX_NORMAL;
  }
  drawn.section_ns = draw.one_in(3) ? 0 : draw.between(10, 2 * us);
  drawn.greedy = drawn.kind == "crowd" && draw.one_in(3);
  drawn.gap_ns = drawn.greedy ? 0 : draw.between(500, 5 * us);
  const auto disturbed = [&](const char* by) {
    const auto& left_out = settings_.without;
    return draw.one_in(3) && std::find(left_out.begin(), left_out.end(), by) == left_out.end();
  };
  drawn.stutter = disturbed("stutter");
  drawn.shuffle = disturbed("shuffle");
  drawn.stops = disturbed("stops");
  drawn.signals = disturbed("signals");
  return drawn;
}

}  // namespace torture
