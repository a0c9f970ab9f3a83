// Proportional waiting: between two polls of the number being served, a waiter backs off for
// longer the more numbers are before its own.
#pragma once

#include <cstdint>

#include "lockwright/tunable.hpp"

namespace lockwright {

/// The tunables. `Next` is the delay of the waiter whose number is the next.
template <std::uint64_t Next>
struct proportional_numbers {
  static constexpr tunable base{
      .name = "base",
      .default_value = 512,
      .counted_in = unit::turns,
      .min = 0,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "the delay for each number that is before the waiter's, to begin with",
      .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable longest{
      .name = "longest",
      .default_value = 4'095,
      .counted_in = unit::turns,
      .min = 0,
      .max = 1u << 20,
      .model_value = 2,
      .meaning = "the longest delay for each number that is before the waiter's",
      .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable next{.name = "next",
                                .default_value = Next,
                                .counted_in = unit::turns,
                                .min = 0,
                                .max = 1u << 20,
                                .model_value = 1,
                                .meaning = "the delay of the waiter whose number is the next",
                                .source = "LiTL (Guerraoui et al., TOCS 2019)"};
};

/// The delays of one wait.
///
///   numbers before mine | delay, in iterations of Env::delay()
///   1                   | next
///   n                   | n * base, increased by n * base at each poll without
///                       | progress, but at most n * longest
///
/// Citation: J. M. Mellor-Crummey, M. L. Scott, ACM TOCS 9(1), 1991; the values
/// and the growth are libslock's (David, Guerraoui and Trigonakis, SOSP 2013).
template <class Env, std::uint64_t Next>
class proportional_delay {
  using numbers = proportional_numbers<Next>;

 public:
  static constexpr tunable_list<3> tunables{&numbers::base, &numbers::longest, &numbers::next};

  void back_off(std::uint32_t before_mine, const void* polled) {
    Env::delay(length(before_mine));
    Env::prefetch(polled);
  }

 private:
  std::uint32_t length(std::uint32_t before_mine) {
    if (before_mine == 1) {
      return static_cast<std::uint32_t>(Env::template value<numbers::next>());
    }
    const std::uint64_t base = Env::template value<numbers::base>();
    const std::uint64_t longest = Env::template value<numbers::longest>();
    each_ = before_mine == last_ ? each_ + base : base;
    each_ = each_ < longest ? each_ : longest;
    last_ = before_mine;
    return static_cast<std::uint32_t>(before_mine * each_);
  }

  std::uint64_t each_ = 0;
  std::uint32_t last_ = 0;
};

}  // namespace lockwright
