// Polling as in libslock: it requests the polled line for writing, which some machines answer
// faster than a read followed by a write.
#pragma once

#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// One step of a polling loop: pauses, then a prefetch of the polled line for writing.
///
/// Citation: T. David, R. Guerraoui, V. Trigonakis, "Everything You Always
/// Wanted to Know About Synchronization but Were Afraid to Ask", SOSP 2013.
template <class Env>
struct prefetching_poll {
  static constexpr tunable pauses{
      .name = "pauses",
      .default_value = 24,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "the pause instructions between two polls",
      .source = "libslock, as in LiTL (Guerraoui et al., TOCS 2019): 1 + 23"};
  static constexpr tunable_list<1> tunables{&pauses};

  static void step(const void* polled) {
    for (std::uint64_t left = Env::template value<pauses>(); left != 0; --left) {
      Env::relax();
    }
    Env::prefetch(polled);
  }
};

/// The cell of spin_wait with that polling.
template <class Env>
class prefetch_wait : public spin_wait<Env> {
 public:
  static constexpr auto tunables = prefetching_poll<Env>::tunables;

  void wait() {
    Env::prefetch(this);
    this->wait_by([this] { prefetching_poll<Env>::step(this); });
  }
};

}  // namespace lockwright
