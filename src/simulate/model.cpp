#include "model.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace lockwright::simulate {
namespace {

constexpr std::uint64_t million = 1'000'000;
constexpr std::uint64_t most_instances = 4096;
constexpr std::uint64_t most_data_lines = 4096;

/// Random numbers are below 2^32.
constexpr std::uint64_t most_weight = 1'000'000'000;

std::uint64_t last_weight(const modelled_role& role) {
  return role.takes.empty() ? 0 : role.takes.back().weight_up_to;
}

/// Adds a bucket whose numbers are next in `words`; false if they are none.
bool add_bucket(distribution& to, std::istringstream& words) {
  picoseconds low = 0;
  picoseconds high = 0;
  std::uint64_t weight = 0;
  if (!(words >> low >> high >> weight) || high < low || weight > most_weight) {
    return false;
  }
  to.add(low, high, weight);
  return true;
}

bool add_mutex(model& to, std::istringstream& words) {
  modelled_mutex made;
  if (!(words >> made.instances) || made.instances == 0 || made.instances > most_instances) {
    return false;
  }
  to.mutexes.push_back(std::move(made));
  return true;
}

bool change_mutex(modelled_mutex& last, const std::string& name, std::istringstream& words) {
  if (name == "section") {
    return add_bucket(last.section, words);
  }
  if (name == "lock") {
    return static_cast<bool>(words >> last.lock_name);
  }
  if (name == "polls") {
    last.polls = true;
    return true;
  }
  if (name == "asleep") {
    return words >> last.asleep && last.asleep <= million;
  }
  if (name == "data") {
    std::uint64_t lines = 0;
    const bool read = words >> lines && lines <= most_data_lines;
    last.data_lines = lines;
    return read;
  }
  if (name == "reads") {
    last.kind = guard::rwlock;
    return words >> last.reads && last.reads <= million;
  }
  last.kind = guard::atomic;
  return true;
}

bool change_role(modelled_role& last, std::size_t mutexes, const std::string& name,
                 std::istringstream& words) {
  if (name == "gap") {
    return add_bucket(last.gap, words);
  }
  if (name == "block") {
    return words >> last.blocks >> last.block && last.blocks <= million;
  }
  if (name == "meet") {
    return words >> last.meets && last.meets <= million;
  }
  std::uint64_t mutex = 0;
  std::uint64_t weight = 0;
  if (!(words >> mutex >> weight) || mutex >= mutexes || weight > most_weight) {
    return false;
  }
  last.takes.push_back({mutex, last_weight(last) + weight});
  return true;
}

/// Adds what a line states; false if it states nothing that belongs here.
bool add_line(model& to, const std::string& name, std::istringstream& words) {
  if (name == "mutex") {
    return add_mutex(to, words);
  }
  if (name == "role") {
    to.roles.emplace_back();
    return static_cast<bool>(words >> to.roles.back().threads);
  }
  constexpr std::array of_mutexes{"section", "lock", "reads", "atomic", "polls", "asleep", "data"};
  constexpr std::array of_roles{"gap", "block", "meet", "take"};
  if (std::find(of_mutexes.begin(), of_mutexes.end(), name) != of_mutexes.end()) {
    return !to.mutexes.empty() && change_mutex(to.mutexes.back(), name, words);
  }
  if (std::find(of_roles.begin(), of_roles.end(), name) != of_roles.end()) {
    return !to.roles.empty() && change_role(to.roles.back(), to.mutexes.size(), name, words);
  }
  return false;
}

}  // namespace

void distribution::add(picoseconds low, picoseconds high, std::uint64_t weight) {
  if (weight != 0) {
    weight_ += weight;
    buckets_.push_back({low, high, weight_});
  }
}

picoseconds distribution::draw(random_source& random) const {
  if (weight_ == 0) {
    return 0;
  }
  const std::uint64_t at = random.below(weight_);
  const auto found =
      std::upper_bound(buckets_.begin(), buckets_.end(), at,
                       [](std::uint64_t value, const bucket& b) { return value < b.weight_up_to; });
  // Two draws: below() is even only for small spans.
  constexpr std::uint64_t parts = 1 << 20;
  const auto share = static_cast<double>(random.below(parts)) / static_cast<double>(parts);
  return found->low +
         static_cast<picoseconds>(share * static_cast<double>(found->high - found->low));
}

std::uint64_t model::threads() const {
  std::uint64_t all = 0;
  for (const modelled_role& role : roles) {
    all += role.threads;
  }
  return all;
}

void model::read(const std::string& path) {
  if (path.empty()) {
    refuse("the workload 'model' needs a file; name it with '--model'");
  }
  std::ifstream file(path);
  if (!file) {
    refuse("cannot read the model '" + path + "'; check the path");
  }
  std::uint32_t number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    std::istringstream words(text);
    std::string name;
    if (words >> name && !add_line(*this, name, words)) {
      std::ostringstream message;
      message << path << ':' << number << ": '" << text
              << "' is no part of a model; 'lockwright simulate' writes this file";
      refuse(message.str());
    }
  }
  if (roles.empty()) {
    refuse(path + ": the model has no threads; 'lockwright simulate' writes this file");
  }
  for (const modelled_role& role : roles) {
    if (last_weight(role) == 0) {
      refuse(path + ": a role takes no mutex; 'lockwright simulate' writes this file");
    }
  }
}

}  // namespace lockwright::simulate
