#include "machine.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace lockwright::simulate {
namespace {

struct scalar {
  const char* name;
  std::uint64_t figures::* member;
};

constexpr scalar scalars[] = {
    {"packages", &figures::packages},
    {"nodes_per_package", &figures::nodes_per_package},
    {"caches_per_node", &figures::caches_per_node},
    {"cores_per_cache", &figures::cores_per_cache},
    {"threads_per_core", &figures::threads_per_core},
    {"slow_cores", &figures::slow_cores},
    {"slow_work", &figures::slow_work},
    {"load_hit", &figures::load_hit},
    {"store_hit", &figures::store_hit},
    {"rmw_hit", &figures::rmw_hit},
    {"call", &figures::call},
    {"shared_read", &figures::shared_read},
    {"invalidate", &figures::invalidate},
    {"store_buffer", &figures::store_buffer},
    {"directory", &figures::directory},
    {"request", &figures::request},
    {"jitter", &figures::jitter},
    {"nearest_first", &figures::nearest_first},
    {"keep", &figures::keep},
    {"migratory", &figures::migratory},
    {"pause", &figures::pause},
    {"turn", &figures::turn},
    {"cycle", &figures::cycle},
    {"clock_read", &figures::clock_read},
    {"work_jitter", &figures::work_jitter},
    {"kernel_jitter", &figures::kernel_jitter},
    {"smt_busy", &figures::smt_busy},
    {"smt_pausing", &figures::smt_pausing},
    {"skip_polls", &figures::skip_polls},
    {"cache_bytes", &figures::cache_bytes},
    {"data_by_node", &figures::data_by_node},
    {"tlb_pages", &figures::tlb_pages},
    {"tlb_miss", &figures::tlb_miss},
    {"cache_read", &figures::cache_read},
    {"cache_miss", &figures::cache_miss},
    {"futex_sleep", &figures::futex_sleep},
    {"futex_wake", &figures::futex_wake},
    {"futex_miss", &figures::futex_miss},
    {"futex_bucket", &figures::futex_bucket},
    {"wake_in_bucket", &figures::wake_in_bucket},
    {"wake_latency", &figures::wake_latency},
    {"interrupt", &figures::interrupt},
    {"interrupt_latency", &figures::interrupt_latency},
    {"idle_depth", &figures::idle_depth},
    {"idle_exit", &figures::idle_exit},
    {"switch_thread", &figures::switch_thread},
    {"yield", &figures::yield},
    {"membarrier", &figures::membarrier},
    {"slice", &figures::slice},
    {"period", &figures::period},
    {"wake_preempts", &figures::wake_preempts},
    {"tick", &figures::tick},
    {"fair", &figures::fair},
    {"migration", &figures::migration},
    {"cache_hot", &figures::cache_hot},
    {"watts_running", &figures::watts_running},
    {"watts_pausing", &figures::watts_pausing},
    {"watts_idle", &figures::watts_idle},
    {"watts_deep", &figures::watts_deep},
    {"watts_base", &figures::watts_base},
};

struct table {
  const char* name;
  cost_by_distance figures::* member;
};

constexpr table tables[] = {
    {"load", &figures::load},
    {"store", &figures::store},
    {"rmw", &figures::rmw},
    {"memory", &figures::memory},
};

/// Sets the figure that the line is about; false if there is none of that name, or a number lacks.
bool set(figures& all, std::vector<std::array<std::uint32_t, 2>>& two_hops, const std::string& name,
         std::istringstream& numbers) {
  for (const scalar& one : scalars) {
    if (name == one.name) {
      return static_cast<bool>(numbers >> all.*one.member);
    }
  }
  for (const table& one : tables) {
    if (name == one.name) {
      for (std::uint64_t& cost : all.*one.member) {
        numbers >> cost;
      }
      return static_cast<bool>(numbers);
    }
  }
  std::array<std::uint32_t, 2> pair{};
  if (name == "two_hops" && numbers >> pair[0] >> pair[1]) {
    two_hops.push_back(pair);
    return true;
  }
  return false;
}

}  // namespace

void machine::read(const char* path) {
  std::ifstream file(path);
  if (!file) {
    refuse(std::string("cannot read the machine '") + path + "'; check the path");
  }
  figures given;
  std::vector<std::array<std::uint32_t, 2>> two_hops;
  std::vector<std::string> seen;
  std::uint32_t number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    std::istringstream words(text);
    std::string name;
    if (!(words >> name)) {
      continue;
    }
    if (!set(given, two_hops, name, words)) {
      refuse(std::string(path) + ":" + std::to_string(number) + ": '" + text +
             "' is no figure of a machine; 'lockwright simulate' writes this file");
    }
    seen.push_back(name);
  }
  const auto lacks = [&seen, path](const char* name) {
    for (const std::string& one : seen) {
      if (one == name) {
        return;
      }
    }
    refuse(std::string(path) + ": '" + name +
           "' is missing; 'lockwright simulate' writes this file");
  };
  for (const scalar& one : scalars) {
    lacks(one.name);
  }
  for (const table& one : tables) {
    lacks(one.name);
  }
  use(given, two_hops);
}

void machine::use(const figures& given, const std::vector<std::array<std::uint32_t, 2>>& two_hops) {
  all = given;
  for (const std::uint64_t count : {all.packages, all.nodes_per_package, all.caches_per_node,
                                    all.cores_per_cache, all.threads_per_core}) {
    if (count == 0 || count > most_cores) {
      refuse("a count of the machine's shape is 0 or above 1024; give each at least 1");
    }
  }
  const std::uint64_t cores =
      all.packages * all.nodes_per_package * all.caches_per_node * all.cores_per_cache;
  if (cores > most_cores) {
    refuse("the machine has " + std::to_string(cores) + " cores; at most 1024 can be simulated");
  }
  if (all.slow_cores > cores) {
    refuse("the machine has more slow cores than cores");
  }
  cores_ = static_cast<std::uint32_t>(cores);
  processors_ = static_cast<std::uint32_t>(cores * all.threads_per_core);
  caches_ = static_cast<std::uint32_t>(cores / all.cores_per_cache);
  nodes_ = static_cast<std::uint32_t>(all.packages * all.nodes_per_package);
  of_core_.resize(cores_);
  for (std::uint32_t core = 0; core < cores_; ++core) {
    const auto cache = static_cast<std::uint32_t>(core / all.cores_per_cache);
    const auto node = static_cast<std::uint32_t>(cache / all.caches_per_node);
    of_core_[core] = {core, cache, node, static_cast<std::uint32_t>(node / all.nodes_per_package)};
  }
  std::vector<distance> nodes(std::size_t{nodes_} * nodes_, distance::far);
  for (std::uint32_t a = 0; a < nodes_; ++a) {
    for (std::uint32_t b = 0; b < nodes_; ++b) {
      if (a == b) {
        nodes[a * nodes_ + b] = distance::node;
      } else if (a / all.nodes_per_package == b / all.nodes_per_package) {
        nodes[a * nodes_ + b] = distance::package;
      }
    }
  }
  for (const auto& [a, b] : two_hops) {
    if (a >= nodes_ || b >= nodes_ || a == b) {
      refuse("two_hops names a pair of nodes that the machine does not have; it has " +
             std::to_string(nodes_));
    }
    nodes[a * nodes_ + b] = nodes[b * nodes_ + a] = distance::two_hops;
  }
  between_cores_.resize(std::size_t{cores_} * cores_);
  to_node_.resize(std::size_t{cores_} * nodes_);
  for (std::uint32_t a = 0; a < cores_; ++a) {
    for (std::uint32_t b = 0; b < cores_; ++b) {
      between_cores_[a * cores_ + b] = a == b ? distance::core
                                       : of_core_[a].cache == of_core_[b].cache
                                           ? distance::cache
                                           : nodes[of_core_[a].node * nodes_ + of_core_[b].node];
    }
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      to_node_[a * nodes_ + node] = nodes[of_core_[a].node * nodes_ + node];
    }
  }
}

}  // namespace lockwright::simulate
