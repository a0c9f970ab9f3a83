// The programs that the checker runs for each lock, and their environment.
#pragma once

#include <cstdint>
#include <vector>

#include "lockwright/lock.hpp"
#include "lockwright/lock/pthread.hpp"
#include "scenarios.hpp"

namespace lockwright::check {

struct test_case {
  const char* name;
  std::uint32_t threads;
  maker make_program;
  model_env::settings settings;
};

template <class L>
std::vector<test_case> cases_over() {
  model_env::settings settings;
  settings.impatient = L::traits.parks();
  if constexpr (requires { L::common_bytes; }) {
    settings.common_bytes = L::common_bytes;
  }
  std::vector<test_case> cases{
      {"exclusion", 2, make<exclusion<L, 2, 2>>, settings},
      {"trylock", 2, make<trylock<L>>, settings},
      {"refusal", 2, make<refusal<L>>, settings},
      {"node-reuse", 2, make<reuse<L>>, settings},
      {"nested", 2, make<nested<L>>, settings},
      {"last-user-destroys", 2, make<last_user_destroys<L, 2>>, settings},
      {"released-by-another", 2, make<released_by_another<L>>, settings},
      {"thread-exit", 2, make<thread_exit<L>>, settings},
  };
  if (L::traits.parks()) {
    model_env::settings early = settings;
    early.spurious = true;
    cases.push_back({"early-wake", 2, make<refusal<L>>, early});
  }
  if constexpr (requires { L::bytes_outside(); }) {
    model_env::settings full = settings;
    full.short_of_memory = true;
    cases.push_back({"no-memory", 2, make<exclusion<L, 2, 2>>, full});
    cases.push_back({"no-memory-trylock", 2, make<trylock<L>>, full});
    cases.push_back({"no-memory-destroys", 2, make<last_user_destroys<L, 2>>, full});
  }
  if constexpr (TimedLock<L>) {
    cases.push_back({"timed", 2, make<timed<L>>, settings});
    cases.push_back({"in-time", 2, make<in_time<L>>, settings});
    cases.push_back({"timed", 3, make<all_timed<L>>, settings});
  }
  if constexpr (requires(L& lock) { lock.expect_signals(); }) {
    cases.push_back({"signals", 3, make<signals<L>>, settings});
  }
  if (L::traits.numa_aware) {
    model_env::settings one_node = settings;
    one_node.nodes = 1;
    model_env::settings migrating = settings;
    migrating.migrates = true;
    cases.push_back({"exclusion-1-node", 2, make<exclusion<L, 2, 2>>, one_node});
    cases.push_back({"trylock-1-node", 2, make<trylock<L>>, one_node});
    cases.push_back({"last-user-1-node", 2, make<last_user_destroys<L, 2>>, one_node});
    cases.push_back({"migrating", 2, make<refusal<L>>, migrating});
  }
  if constexpr (requires { algorithm_of<L>::type::levels; }) {
    model_env::settings caches = settings;
    caches.caches = 2;
    caches.nodes = 1;
    caches.migrates = true;
    cases.push_back({"migrating-caches", 2, make<refusal<L>>, caches});
    cases.push_back({"exclusion-caches", 2, make<exclusion<L, 2, 2>>, caches});
    caches.nodes = 2;
    caches.migrates = false;
    cases.push_back({"exclusion-levels", 3, make<exclusion<L, 3, 1>>, caches});
    cases.push_back({"last-user-levels", 3, make<last_user_destroys<L, 3>>, caches});
  }
  constexpr bool hands_own_words_over =
      L::traits.category == category::direct_handoff && L::traits.node_bytes == 0;
  if (hands_own_words_over) {
    cases.push_back({"both-released", 3, make<both_released_by_others<L>>, settings});
  }
  cases.push_back({"exclusion", 3, make<exclusion<L, 3, 1>>, settings});
  cases.push_back({"last-user-destroys", 3, make<last_user_destroys<L, 3>>, settings});
  if (L::traits.numa_aware) {
    cases.push_back({"comes-again", 3, make<comes_again<L>>, settings});
    if constexpr (TimedLock<L>) {
      cases.push_back({"comes-again-timed", 3, make<comes_again_timed<L>>, settings});
    }
  }
  if (L::traits.parks() || L::traits.category == category::load_control) {
    cases.push_back({"exclusion-twice", 3, make<exclusion<L, 3, 2>>, settings});
  }
  if constexpr (requires { L::checked_threads; }) {
    cases.push_back({"comes-again", L::checked_threads, make<comes_again<L>>, settings});
    if (hands_own_words_over) {
      cases.push_back(
          {"both-released", L::checked_threads, make<both_released_by_others<L>>, settings});
    }
  }
  return cases;
}

/// The C library's mutex is not checked.
template <class L>
inline constexpr bool is_checked = true;
template <class Env>
inline constexpr bool is_checked<libc_mutex<Env>> = false;

template <class L>
std::vector<test_case> cases_of() {
  if constexpr (!is_checked<L>) {
    return {};
  } else {
    return cases_over<L>();
  }
}

}  // namespace lockwright::check
