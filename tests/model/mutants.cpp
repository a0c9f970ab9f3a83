#include "mutants.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "lockwright/env/model/mutation.hpp"
#include "lockwright/env/model/order_name.hpp"

namespace lockwright::check {
namespace {

using model_env::change;
using model_env::mutation;
using model_env::name_of;
using model_env::operation;
using model_env::site;

const char* name_of(operation kind) {
  switch (kind) {
    case operation::load:
      return "load";
    case operation::store:
      return "store";
    case operation::rmw:
      return "read-modify-write";
    case operation::cas:
      return "compare-and-swap";
    case operation::fence:
      return "fence";
    case operation::assignment:
      return "assignment";
    default:
      return "wake";
  }
}

/// Returns the root directory of the sources.
std::string root() {
  const std::string path = __FILE__;
  constexpr std::string_view suffix = "tests/model/mutants.cpp";
  return path.ends_with(suffix) ? path.substr(0, path.size() - suffix.size()) : "";
}

/// Returns the memory orders one step weaker than `order`.
std::vector<std::memory_order> weaker(operation kind, std::memory_order order) {
  switch (order) {
    case std::memory_order_seq_cst:
      return {kind == operation::load    ? std::memory_order_acquire
              : kind == operation::store ? std::memory_order_release
                                         : std::memory_order_acq_rel};
    case std::memory_order_acq_rel:
      return {std::memory_order_acquire, std::memory_order_release};
    case std::memory_order_relaxed:
      return {};
    default:
      return {std::memory_order_relaxed};
  }
}

/// An operation of a lock, and the cases that reach it.
struct reached_site {
  site location;
  std::vector<const test_case*> cases;
};

std::vector<reached_site> sites_of(const subject& s) {
  std::vector<reached_site> all;
  for (const test_case& c : s.cases) {
    model_env::reached.count = 0;
    model_env::reached.recording = true;
    run(c.make_program, c.threads, {search::random, 400, 5}, c.settings, false);
    model_env::reached.recording = false;
    if (model_env::reached.count == model_env::site_list::most) {
      throw std::length_error("a program reaches more operations than site_list can hold");
    }
    for (std::uint32_t i = 0; i < model_env::reached.count; ++i) {
      const site& at = model_env::reached.sites[i];
      auto same = std::ranges::find_if(all, [&at](const reached_site& other) {
        return std::tuple(std::string_view(other.location.file), other.location.line,
                          other.location.column) ==
               std::tuple(std::string_view(at.file), at.line, at.column);
      });
      if (same == all.end()) {
        same = all.insert(all.end(), {at, {}});
      }
      same->cases.push_back(&c);
    }
  }
  // Not the variables of the scenarios, nor plain variables assigned to each other, which are read
  // and written in plain.hpp.
  std::erase_if(all, [&s](const reached_site& reached) {
    const std::string_view file = reached.location.file;
    return file.find("/src/check/") != std::string_view::npos ||
           file.find("/env/model/") != std::string_view::npos ||
           file.find(s.mutated) == std::string_view::npos;
  });
  // By source line, so that two runs list the same mutants in the same order.
  std::ranges::sort(all, [](const reached_site& a, const reached_site& b) {
    return std::tuple(std::string_view(a.location.file), a.location.line, a.location.column) <
           std::tuple(std::string_view(b.location.file), b.location.line, b.location.column);
  });
  return all;
}

}  // namespace

std::vector<mutant> mutants_of(const subject& s) {
  std::vector<mutant> all;
  for (const reached_site& reached : sites_of(s)) {
    const site& at = reached.location;
    auto add = [&](change what, std::memory_order order) {
      all.push_back({{what, at, order}, reached.cases});
    };
    for (std::memory_order order : weaker(at.kind, at.order)) {
      add(change::order, order);
    }
    if (at.kind == operation::cas) {
      for (std::memory_order order : weaker(operation::load, at.failure_order)) {
        add(change::failure_order, order);
      }
    }
    if (at.kind == operation::store || at.kind == operation::assignment ||
        at.kind == operation::wake || at.kind == operation::fence) {
      add(change::drop, at.order);
    }
    if (at.kind == operation::rmw || at.kind == operation::cas) {
      add(change::split, at.order);
    }
  }
  return all;
}

std::string location_of(const mutation& m) {
  std::string file = m.where.file;
  if (file.starts_with(root())) {
    file.erase(0, root().size());
  }
  return file + ":" + std::to_string(m.where.line);
}

std::string operation_of(const mutation& m) { return name_of(m.where.kind); }

std::string change_of(const mutation& m) {
  // Not by +, for which gcc 12 warns in the library's code.
  std::string text;
  switch (m.what) {
    case change::order:
      return text.append(name_of(m.where.order)).append(" -> ").append(name_of(m.order));
    case change::failure_order:
      return text.append("failing ")
          .append(name_of(m.where.failure_order))
          .append(" -> ")
          .append(name_of(m.order));
    case change::drop:
      return "dropped";
    case change::split:
      return "in two steps";
    default:
      return "";
  }
}

}  // namespace lockwright::check
