// The tunables of an algorithm: named numbers with a default, a unit and a source.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockwright {

/// The unit of a tunable.
enum class unit : std::uint8_t {
  count,        ///< a number of what its `meaning` names
  nanoseconds,  ///< of Env::now()
  turns,        ///< iterations of the empty loop of Env::delay()
  one_in,       ///< a probability of one in that many; 0 is never
};

/// One number of an algorithm. The user sets it by LOCKWRIGHT_<LOCK>_<NAME>, or
/// for every lock that has a number of this name by LOCKWRIGHT_<NAME>, upper
/// case with underscores; the algorithm reads it by Env::value<the_tunable>().
///
/// The texts are arrays, not pointers, so that tunables need no relocations and stay on pages of
/// the library's file.
struct tunable {
  char name[32];  ///< lower case, with hyphens
  std::uint64_t default_value;
  unit counted_in;
  std::uint64_t min = 0;
  std::uint64_t max;
  std::uint64_t model_value;  ///< in the model checker: small, so that every case occurs
  char meaning[160];          ///< one sentence without a full stop
  char source[192];           ///< where the default comes from
};

/// The tunables of a lock, as its static member `tunables`.
template <std::size_t N>
using tunable_list = std::array<const tunable*, N>;

/// Concatenates the tunables of a lock's parts.
template <std::size_t N, std::size_t M>
[[nodiscard]] constexpr tunable_list<N + M> join(const tunable_list<N>& a,
                                                 const tunable_list<M>& b) {
  tunable_list<N + M> all{};
  for (std::size_t i = 0; i < N; ++i) {
    all[i] = a[i];
  }
  for (std::size_t i = 0; i < M; ++i) {
    all[N + i] = b[i];
  }
  return all;
}

}  // namespace lockwright
