// What `adaptive` learns of its load, and each decision that rests on it: how long to poll, when to
// yield, whether an unlock may rely on another thread, which sleeper to prefer. A wrong decision
// costs time and nothing else: the model checker replaces each, in Env::advice(), by a free choice.
//
// Citation: adaptive polling: Mauro and McDougall, Solaris Internals, 2000. Wakes suppressed for a
// thread on its way: D. Dice, HotSpot's ObjectMonitor, and "Malthusian Locks", EuroSys 2017.
#pragma once

#include <cstdint>
#include <utility>

#include "lockwright/parts/growing_delay.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

struct adaptive_tunables {
  static constexpr tunable most_pollers{
      .name = "pollers",
      .default_value = 0,
      .counted_in = unit::count,
      .max = 7,
      .model_value = 1,
      .meaning = "how many threads may poll at a time; 0: one, or two from 8 processors on",
      .source = "the Go runtime's mutex polls with one (Go 1.24, lock_spinbit.go)"};
  static constexpr tunable poll_budget{
      .name = "poll-ns",
      .default_value = 10'000,
      .counted_in = unit::nanoseconds,
      .max = std::uint64_t{1} << 40,
      .model_value = 0,
      .meaning =
          "how long a waiter polls before it sleeps, to begin with; the lock adapts it "
          "between an eighth of that and twice as much",
      .source = "about a sleep and a wake (Karlin et al., SOSP 1991): `lockwright bench park`"};
  static constexpr tunable suppressed_wakes{
      .name = "suppressed-wakes",
      .default_value = 8,
      .counted_in = unit::count,
      .max = 15,
      .model_value = 1,
      .meaning =
          "after how many unlocks in a row that rely on a thread on its way the clock is read; 0: "
          "every unlock wakes a sleeper",
      .source = "a reading costs as much as a few unlocks"};
  static constexpr tunable overdue{
      .name = "overdue-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .max = std::uint64_t{1} << 40,
      .model_value = 1,
      .meaning = "after which time a thread that is on its way counts as preempted",
      .source = "many times as long as one that runs takes to wake and to poll"};
  static constexpr tunable yields{
      .name = "yields",
      .default_value = 16,
      .counted_in = unit::count,
      .max = 1 << 20,
      .model_value = 1,
      .meaning = "how often a waiter yields before it sleeps, except with a condition variable",
      .source = "`lockwright bench regret`: 12 gain less, and 40 cost more processor time"};
  static constexpr tunable tenure{
      .name = "tenure-ns",
      .default_value = 300'000,
      .counted_in = unit::nanoseconds,
      .max = std::uint64_t{1} << 40,
      .model_value = 8,
      .meaning = "how long a waiter leaves a lock in high demand to its holder",
      .source = "`lockwright bench regret`: 60 us lose more in empty sections"};
  static constexpr tunable patience{
      .name = "patience-ns",
      .default_value = 4'000'000,
      .counted_in = unit::nanoseconds,
      .max = std::uint64_t{1} << 40,
      .model_value = 1'000,
      .meaning =
          "within which time a batch of up to eight sleepers is served, one after the other; a "
          "larger batch takes an eighth of it for each",
      .source = "about a time slice of the kernel's scheduler"};
  static constexpr tunable backoff{
      .name = "backoff",
      .default_value = 2'720,
      .counted_in = unit::turns,
      .max = 1 << 19,
      .model_value = 1,
      .meaning =
          "the longest delay between two attempts to push a node, for each processor, after two "
          "that failed; delays double up to it, from a sixteenth; 0: none",
      .source = "`lockwright simulate`, of 384 and 512 processors"};
  static constexpr tunable local_depth{
      .name = "local-depth",
      .default_value = 16,
      .counted_in = unit::count,
      .max = 1'000,
      .model_value = 3,
      .meaning =
          "how many of the last sleepers an unlock searches for one of the NUMA node that the "
          "lock prefers, if there are several nodes; 0: it prefers none",
      .source = "about the processors of a node"};
  static constexpr tunable_list<9> tunables{&most_pollers, &poll_budget, &suppressed_wakes,
                                            &overdue,      &yields,      &tenure,
                                            &patience,     &backoff,     &local_depth};
};

/// How a thread has waited for the lock, from which it learns once it holds it.
template <class Env>
struct adaptive_experience : private adaptive_tunables {
  enum class polling : std::uint8_t { none, succeeded, in_vain };
  /// What a second look at a free lock has shown: it stays free, or it is taken again at once.
  enum class demand : std::uint8_t { unknown, low, high };

  /// The delays before the attempts to push a node. Without them, each of many threads that come at
  /// once fails as often as there are threads before it, and the line of the lock moves a quadratic
  /// number of times. Each processor may have an attempt under way.
  growing_delay delays{Env::template value<backoff>() * Env::cpus() / 16,
                       Env::template value<backoff>() * Env::cpus()};
  std::uint32_t failures = 0;

  bool waited = false;
  polling polled = polling::none;
  demand found = demand::unknown;
  std::uint64_t now = 0;  // the last reading of the clock; 0: none
  bool rested = false;    // since it slept
  std::uint64_t yields_left = Env::template value<adaptive_tunables::yields>();

  void polls() {
    waited = true;
    polled = polled == polling::none ? polling::succeeded : polled;
  }
  void leaves_off() {
    waited = true;
    polled = polled == polling::none ? polled : polling::in_vain;
  }
  void sleeps() {
    leaves_off();
    yields_left = 0;
    rested = false;
  }
};

/// A copy of the lock's state, in which it keeps what it has learnt. A View is the lock's word as a
/// waiter saw it last: look() reads it again, and returns whether the waiter may take the lock.
template <class Env>
class adaptive_advice : private adaptive_tunables {
 public:
  using experience = adaptive_experience<Env>;

  explicit adaptive_advice(std::uint64_t state) : state_{state} {}

  std::uint64_t state() const { return state_; }

  /// The caller's node if the lock prefers the threads of one, or else its processor; plus 1.
  static std::uint64_t here() { return (prefers_node() ? Env::node() : Env::cpu()) % 63 + 1; }

  static bool may_poll(const auto& view) {
    if (view.pollers() != 0 && prefers_another_node(view)) {
      return false;
    }
    std::uint64_t most = Env::template value<most_pollers>();
    if (most == 0) {
      most = Env::cpus() == 1 ? 0 : Env::cpus() < 8 ? 1 : 2;
    }
    return view.pollers() < most;
  }

  /// Returns once the lock is to be taken, or polling has lasted too long, or the holder cannot run
  /// because this thread does. Where demand is high, the caller leaves the lock to the holder for a
  /// while first: handing it over would take longer than the sections. Not with a condition
  /// variable: a thread that passes messages on does so only while it has the lock.
  static void poll(auto& view, experience& mine) {
    mine.polls();
    adaptive_advice known{view.state()};
    bool looks_twice =
        !view.reserves() &&
        Env::advice(!view.signals() && (known.get(hot_) != 0 || known.get(acquisitions_) == 0));
    std::uint64_t end = 0;
    for (;;) {
      for (std::uint32_t i = 0; i < polls_per_clock_; ++i) {
        if (view.look()) {
          if (!looks_twice) {
            return;
          }
          looks_twice = false;
          mine.found = stays_free(view) ? experience::demand::low : experience::demand::high;
          if (mine.found == experience::demand::low) {
            return;
          }
          stay_away(view);
          end = 0;
        }
        Env::relax();
      }
      known = adaptive_advice{view.state()};
      mine.now = Env::now();
      if (end == 0) {
        end = mine.now + Env::template value<poll_budget>() * known.budget() / 16;
      }
      if (mine.now >= end || (view.holder_has_waited() && !prefers_node() &&
                              Env::advice(known.get(place_) == here()))) {
        return;
      }
    }
  }

  /// Lets other threads run, unless that is in vain: a waiter then sleeps. Where demand is high it
  /// would take the lock from its holder too often. Returns whether it did.
  static bool yields(const auto& view, experience& mine) {
    if (mine.yields_left == 0 ||
        !Env::advice(!view.signals() && adaptive_advice{view.state()}.get(hot_) == 0) ||
        prefers_another_node(view)) {
      return false;
    }
    mine.leaves_off();
    const std::uint64_t start = Env::now();
    Env::yield();
    mine.yields_left = Env::now() - start < others_run_ ? 0 : mine.yields_left - 1;
    return true;
  }

  /// Whether a woken thread that has polled in vain sleeps for `rest` and polls again, once, before
  /// it goes back to the stack, from where an unlock has to wake it. Messages are not to wait so.
  static bool rests(const auto& view, experience& mine) {
    return !std::exchange(mine.rested, true) && Env::advice(!view.signals());
  }
  static constexpr std::uint64_t rest = 50'000;  // ns: about what a woken thread takes to run

  /// oldest: the elder that is served next, or null.
  void learn(const experience& mine, const auto* oldest) {
    if (mine.polled == experience::polling::in_vain && budget() > budget_least_) {
      set(budget_, get(budget_) - 1);
    } else if (mine.polled == experience::polling::succeeded && budget() < budget_most_) {
      set(budget_, get(budget_) + 1);
    }
    set(acquisitions_, get(acquisitions_) + 1);
    if (!prefers_node() || !polling_pays() || get(place_) == 0) {
      set(place_, here());
    }
    set(suppressed_, 0);
    set(is_timed_, 0);
    if (mine.found != experience::demand::unknown) {
      const std::uint64_t hot = get(hot_);
      set(hot_, mine.found == experience::demand::high ? hot_.mask : hot == 0 ? 0 : hot - 1);
    }
    if (oldest != nullptr && (get(acquisitions_) == 0 || mine.now != 0) &&
        oldest->due <= (mine.now != 0 ? mine.now : Env::now())) {
      set(is_due_, 1);
    }
  }

  /// Whether an unlock leaves the sleepers to a thread on its way, without a look at the stack.
  bool relies_on_another() {
    const std::uint64_t count = get(suppressed_);
    if (Env::advice(get(is_due_) != 0 || count >= Env::template value<suppressed_wakes>())) {
      return false;
    }
    set(suppressed_, count + 1);
    return true;
  }

  /// Whether an unlock wakes a sleeper although a thread is on its way to the lock: the oldest elder
  /// is due, or that thread takes so long that it has probably been preempted. next: a sleeper.
  bool wakes_another(auto& next) { return Env::advice(get(is_due_) != 0 || is_overdue(next)); }

  /// Whether the oldest elder is served before sleepers that came later, and marks it.
  bool serves(auto& oldest) {
    if (!Env::advice(get(is_due_) != 0 || oldest.due <= Env::now())) {
      return false;
    }
    oldest.aged = true;
    set(is_due_, 0);
    return true;
  }

  /// The time between two elders of a batch of `count`. A sleep and a wake cost several
  /// microseconds, so that one elder each 500 us costs a few per cent.
  static std::uint64_t interval(std::uint64_t count) {
    return Env::template value<patience>() / (count < 8 ? count : 8);
  }

  /// The sleeper above the one that is woken instead of `top`, the last that came; null for `top`.
  template <class Node>
  Node* above_preferred(Node* top, bool signals) const {
    if (!prefers_node() || !Env::advice(stays_on_node(signals)) || is_local(*top)) {
      return nullptr;
    }
    Node* above = top;
    for (std::uint64_t left = Env::template value<local_depth>(); --left != 0;) {
      Node* next = above->next;
      if (next == nullptr || is_local(*next)) {
        return next == nullptr ? nullptr : above;
      }
      above = next;
    }
    return nullptr;
  }

 private:
  struct field {
    unsigned shift;
    std::uint64_t mask;
  };
  static constexpr field budget_{0, 31};   // 16ths of poll_budget, with its highest bit turned
  static constexpr field is_timed_{5, 1};  // suppressed_since of the next sleeper is valid
  static constexpr field suppressed_{6, 15};
  static constexpr field is_due_{10, 1};
  static constexpr field acquisitions_{11, 7};
  static constexpr field hot_{14, 3};     // above 0: demand has been high
  static constexpr field place_{58, 63};  // see here(); 0: unknown

  static constexpr std::uint64_t budget_default_ = 16;
  static constexpr std::uint64_t budget_least_ = 2;
  static constexpr std::uint64_t budget_most_ = 31;
  static constexpr std::uint32_t polls_per_clock_ = 16;
  // Nanoseconds; a yield that finds no other thread to run takes less.
  static constexpr std::uint64_t others_run_ = 1'000;

  std::uint64_t get(field of) const { return state_ >> of.shift & of.mask; }
  void set(field of, std::uint64_t to) {
    state_ = (state_ & ~(of.mask << of.shift)) | (to & of.mask) << of.shift;
  }

  std::uint64_t budget() const { return get(budget_) ^ budget_default_; }

  /// Whether waiters usually get the lock by polling. If not, most sections wait for a wake, beside
  /// which the distance between the threads is small.
  bool polling_pays() const { return budget() >= budget_default_; }

  static bool prefers_node() { return Env::nodes() > 1 && Env::template value<local_depth>() != 0; }

  /// Whether the threads of the preferred node come first. With a condition variable it matters
  /// which thread runs next, not where.
  bool stays_on_node(bool signals) const { return !signals && polling_pays(); }

  bool is_local(const auto& each) const { return Env::advice(each.home == get(place_)); }

  static bool prefers_another_node(const auto& view) {
    if (!prefers_node()) {
      return false;
    }
    const adaptive_advice known{view.state()};
    return Env::advice(known.stays_on_node(view.signals()) && known.get(place_) != here());
  }

  /// Looks again some 40 ns later, which is what a reading of the clock and a pause take; a later
  /// look takes gaps of 100 ns for none. The second reading is for a holder that comes again.
  static bool stays_free(auto& view) {
    static_cast<void>(Env::now());
    Env::relax();
    const bool is_free = view.look();
    static_cast<void>(Env::now());
    return is_free;
  }

  /// Returns after the tenure, or once the lock stays free. Before each look the caller yields its
  /// processor to threads that could run, such as a woken sleeper.
  static void stay_away(auto& view) {
    const std::uint64_t length = Env::template value<tenure>();
    std::uint64_t now = Env::now();
    const std::uint64_t end = now + length;
    while (now < end) {
      const std::uint64_t look = now + length / 8;
      do {
        Env::relax();
        now = Env::now();
      } while (now < look);
      Env::yield();
      if (stays_free(view)) {
        return;
      }
    }
  }

  /// Whether threads on their way have kept `next` from being woken for longer than one that runs
  /// takes. The clock is read only now and then.
  bool is_overdue(auto& next) {
    const std::uint64_t most = Env::template value<suppressed_wakes>();
    const std::uint64_t count = get(suppressed_);
    set(suppressed_, count < most ? count + 1 : 0);
    if (count < most) {
      return false;
    }
    const std::uint64_t now = Env::now();
    if (most != 0 && (get(is_timed_) == 0 || next.suppressed_since == 0)) {
      next.suppressed_since = now;
      set(is_timed_, 1);
      return false;
    }
    return most == 0 || now - next.suppressed_since >= Env::template value<overdue>();
  }

  std::uint64_t state_;
};

}  // namespace lockwright
