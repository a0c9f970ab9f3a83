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

/// The directory that this source is in the tests/model of.
std::string root() {
  const std::string here = __FILE__;
  constexpr std::string_view below = "tests/model/mutants.cpp";
  return here.ends_with(below) ? here.substr(0, here.size() - below.size()) : "";
}

/// The orders one step weaker than `order`.
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

}  // namespace

std::vector<mutation> mutants_of(const subject& s) {
  model_env::reached.count = 0;
  model_env::reached.recording = true;
  for (const test_case& c : s.cases) {
    run(c.make_program, c.threads, {search::random, 400, 5}, c.world, false);
  }
  model_env::reached.recording = false;
  std::vector<site> sites(model_env::reached.sites,
                          model_env::reached.sites + model_env::reached.count);
  // The scenarios have variables of their own, and a plain one that is assigned to another is read
  // and written in plain.hpp.
  std::erase_if(sites, [&s](const site& one) {
    const std::string_view file = one.file;
    return file.find("/src/check/") != std::string_view::npos ||
           file.find("/env/model/") != std::string_view::npos ||
           file.find(s.own_files) == std::string_view::npos;
  });
  // By source line, so that two runs list the same mutants in the same order.
  std::ranges::sort(sites, [](const site& a, const site& b) {
    return std::tuple(std::string(a.file), a.line, a.column) <
           std::tuple(std::string(b.file), b.line, b.column);
  });

  std::vector<mutation> all;
  for (const site& at : sites) {
    for (std::memory_order order : weaker(at.kind, at.order)) {
      all.push_back({change::order, at, order});
    }
    if (at.kind == operation::cas) {
      for (std::memory_order order : weaker(operation::load, at.failure_order)) {
        all.push_back({change::failure_order, at, order});
      }
    }
    if (at.kind == operation::store || at.kind == operation::assignment ||
        at.kind == operation::wake || at.kind == operation::fence) {
      all.push_back({change::drop, at, at.order});
    }
    if (at.kind == operation::rmw || at.kind == operation::cas) {
      all.push_back({change::split, at, at.order});
    }
  }
  return all;
}

std::string describe(const mutation& m) {
  std::string file = m.where.file;
  if (file.starts_with(root())) {
    file.erase(0, root().size());
  }
  std::string text = file + ":" + std::to_string(m.where.line) + " " + name_of(m.where.kind);
  switch (m.what) {
    case change::order:
      return text + " " + name_of(m.where.order) + " -> " + name_of(m.order);
    case change::failure_order:
      return text + " failing " + name_of(m.where.failure_order) + " -> " + name_of(m.order);
    case change::drop:
      return text + " dropped";
    case change::split:
      return text + " in two steps";
    default:
      return text;
  }
}

}  // namespace lockwright::check
