// Threads with a mutex each, or with many: uncontested, variable-contention, many-locks.
#pragma once

#include <vector>

#include "description.hpp"

namespace lockwright::workloads {

template <class Env>
struct with_many {
  with_many(const typename Env::settings& given, std::size_t count) : mutexes{given, count} {}

  [[nodiscard]] std::uint64_t taken() const { return mutexes.taken(); }

  typename Env::mutexes mutexes;
};

// Each thread takes a mutex that no other thread uses.
template <class Env>
struct lone_sections : with_many<Env> {
  explicit lone_sections(const typename Env::settings& given)
      : with_many<Env>{given, given.threads()} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(lone_sections& w, const typename Env::settings& given, std::size_t index)
        : section{given.length("section")}, mine{w.mutexes[index]} {}
    std::uint64_t section;
    typename Env::mutex& mine;
  };

  template <class Meter>
  static std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(me.mine);
    meter.work(me.section);
    meter.unlock(me.mine);
    return 1;
  }
};

inline const description uncontested{
    .name = "uncontested",
    .measures = "threads that each take a mutex of their own, which no other thread uses",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, table 2",
    .operation = "acquisitions",
    .threads = 1,
    .parameters = {{"section-cycles", 100, "cycles", "work while the mutex is held"}},
};

// Each acquisition is of another mutex, drawn from few or many.
template <class Env>
struct drawn_mutexes : with_many<Env> {
  explicit drawn_mutexes(const typename Env::settings& given)
      : with_many<Env>{given, given.count("mutexes", 1)} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(drawn_mutexes& w, const typename Env::settings& given, std::size_t index)
        : section{given.length("section")},
          gap{given.length("gap")},
          mutexes{w.mutexes},
          random{given.random(index)} {}
    std::uint64_t section;
    std::uint64_t gap;
    typename Env::mutexes& mutexes;
    typename Env::random random;
  };

  template <class Meter>
  static std::uint64_t step(thread_state& me, Meter& meter) {
    typename Env::mutex& drawn = me.mutexes[me.random.below(me.mutexes.size())];
    meter.lock(drawn);
    meter.work(me.section);
    meter.unlock(drawn);
    meter.work(me.gap);
    return 1;
  }
};

inline const description variable_contention{
    .name = "variable-contention",
    .measures = "threads that take another mutex each time, drawn from 1 (high contention) to 512",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figure 12",
    .operation = "acquisitions",
    .parameters = {{"mutexes", 16, "", "number of mutexes to draw from; the paper has 1 to 512", 1},
                   {"section-cycles", 1000, "cycles",
                    "work while the mutex is held; the paper has 0 to 8000"},
                   {"gap-cycles", 0, "cycles", "work between two acquisitions of a thread"}},
};

// Short-lived mutexes: each is made, used and destroyed.
template <class Env>
struct short_lived {
  explicit short_lived(const typename Env::settings& given)
      : words(given.is("made-by") ? given.threads() + 1 : 0) {
    for (std::uint64_t i = 0; i < given.threads(); ++i) {
      mutexes_of.emplace_back(given, given.count("mutexes", 1));
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
      words[i].value.store(to_make);
    }
  }

  static constexpr std::uint32_t to_use = 0;
  static constexpr std::uint32_t to_make = 1;
  static constexpr std::uint32_t end = 2;

  // One thread may initialise them for all: they are then in its cache, and a lock with state per
  // thread is used by a thread other than the one that initialised it.
  [[nodiscard]] std::uint64_t helpers() const { return words.empty() ? 0 : 1; }

  struct alignas(cache_line_pair) thread_state {
    thread_state(short_lived& w, const typename Env::settings& given, std::size_t number)
        : index{number}, pairs{given.count("pairs")}, made(w.mutexes_of.size()) {}
    std::size_t index;
    std::uint64_t pairs;
    std::vector<bool> made;  // of each user, by the thread that makes for all
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    if (me.index >= mutexes_of.size()) {
      make_for_all(me);
      return 0;
    }
    typename Env::bare_mutexes& mine = mutexes_of[me.index];
    if (words.empty()) {
      mine.make();
      mine.use(me.pairs, meter);
      mine.destroy();
      return mine.size();
    }
    auto& turn = words[me.index + 1];
    for (std::uint32_t now = turn.value.load(); now != to_use; now = turn.value.load()) {
      if (now == end) {
        return 0;
      }
      Env::wait(turn, now);
    }
    mine.use(me.pairs, meter);
    turn.value.store(to_make);
    words[0].value.fetch_add(1);
    Env::wake(words[0], 1);
    return mine.size();
  }

  void make_for_all(thread_state& me) {
    auto& served = words[0];
    const std::uint32_t seen = served.value.load();
    bool any = false;
    for (std::size_t i = 0; i < mutexes_of.size(); ++i) {
      auto& turn = words[i + 1];
      if (turn.value.load() == to_make) {
        if (me.made[i]) {
          mutexes_of[i].destroy();
        }
        mutexes_of[i].make();
        me.made[i] = true;
        // Unless release_waiters() has stored `end` meanwhile.
        std::uint32_t expected = to_make;
        turn.value.compare_exchange_strong(expected, to_use);
        Env::wake(turn, 1);
        any = true;
      }
    }
    if (!any) {
      Env::wait(served, seen);
    }
  }

  void release_waiters() {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i == 0) {
        words[i].value.fetch_add(1);
      } else {
        words[i].value.store(end);
      }
      Env::wake(words[i], 1);
    }
  }

  static std::uint64_t taken() { return 0; }

  std::vector<typename Env::bare_mutexes> mutexes_of;
  // Where one thread makes the mutexes: how often it was asked; then, for each thread that uses them,
  // what is to be done next with its mutexes.
  std::vector<typename Env::word> words;
};

inline const description many_locks{
    .name = "many-locks",
    .measures = "short-lived mutexes: each is made, taken and destroyed",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: programs "
        "with up to millions of locks, made by one thread or by all",
    .operation = "mutexes made, used and destroyed",
    .parameters =
        {{"mutexes", 1000, "", "mutexes that a thread uses one after another", 1},
         {"pairs", 1, "", "how often it acquires and releases each of them"},
         {"made-by", 0, "",
          "the thread that initialises and destroys a mutex: its user, or one more thread for "
          "all users",
          0, "all,one"}},
};

}  // namespace lockwright::workloads
