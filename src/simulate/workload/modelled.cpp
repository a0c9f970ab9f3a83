// Threads that take the mutexes of a model file: model.
#include <algorithm>
#include <memory>
#include <vector>

#include "../model.hpp"
#include "../rw_site.hpp"
#include "guarded.hpp"

namespace lockwright::simulate {
namespace {

constexpr std::uint64_t million = 1'000'000;

/// Where a thread sleeps, which no other wakes.
using bed = simulated::atomic<std::uint32_t>;

void sleep_for(bed& where, picoseconds length) {
  simulated::wait_until(where, 0, simulated::now() + length / 1000);
}

/// A mutex of the model, with all of its instances.
class modelled_guard {
 public:
  modelled_guard(const context& with, const modelled_mutex& about) : in_{with.in}, about_{about} {
    const lock_entry& lock = about.lock_name.empty() ? *with.lock : with.named(about.lock_name);
    const std::uint64_t data_lines = about.data_lines.value_or(with.count("data-lines"));
    for (std::uint64_t i = 0; i < about.instances; ++i) {
      switch (about.kind) {
        case guard::lock:
          sites_.push_back(
              std::make_unique<site>(with.in, lock, data_lines, with.recorded, with.shown));
          break;
        case guard::rwlock:
          rw_sites_.push_back(std::make_unique<rw_site>(with.in, *with.rwlock, data_lines,
                                                        with.readers_and_writers, with.shown));
          break;
        case guard::atomic:
          words_.push_back(&placed<simulated::atomic<std::uint64_t>>(with.in, std::uint64_t{0}));
          break;
      }
    }
  }

  /// bed: where the calling thread sleeps.
  void hold(bed& where) {
    random_source& random = in_.caller()->random;
    const std::uint64_t instance = about_.instances == 1 ? 0 : random.below(about_.instances);
    const picoseconds length = about_.section.draw(random);
    switch (about_.kind) {
      case guard::lock: {
        site& one = *sites_[instance];
        if (about_.polls) {
          while (!one.try_lock()) {
          }
        } else {
          one.lock();
        }
        one.change_data();
        pass(where, length);
        one.unlock();
        break;
      }
      case guard::rwlock:
        hold(*rw_sites_[instance], length, random.below(million) < about_.reads);
        break;
      case guard::atomic:
        words_[instance]->fetch_add(1);
        ++added_;
        break;
    }
  }

  /// Whether each addition to its atomic variables is there.
  [[nodiscard]] bool is_complete() const {
    std::uint64_t sum = 0;
    for (const auto* word : words_) {
      sum += word->load();
    }
    return sum == added_;
  }

 private:
  /// Works, and sleeps for the part of the length in which holders do.
  void pass(bed& where, picoseconds length) {
    const picoseconds asleep = length / million * about_.asleep;
    in_.work(length - asleep);
    if (asleep != 0) {
      sleep_for(where, asleep);
    }
  }

  void hold(rw_site& one, picoseconds length, bool reads) {
    if (reads) {
      one.lock_read();
      one.check_data();
      in_.work(length);
      one.unlock_read();
    } else {
      one.lock_write();
      one.change_data();
      in_.work(length);
      one.unlock_write();
    }
  }

  simulation& in_;
  const modelled_mutex& about_;
  std::vector<std::unique_ptr<site>> sites_;
  std::vector<std::unique_ptr<rw_site>> rw_sites_;
  std::vector<simulated::atomic<std::uint64_t>*> words_;
  std::uint64_t added_ = 0;
};

/// Where the threads of a role wait for each other: a mutex under the simulated lock, and a condition
/// variable.
class modelled_barrier {
 public:
  modelled_barrier(const context& with, std::uint64_t parties)
      : parties_{parties},
        mutex_{placed<guarded>(with.in, with)},
        complete_{placed<guarded::condvar>(with.in)} {}

  void meet() {
    mutex_.lock();
    mutex_.change_data();
    const std::uint64_t round = round_;
    if (++arrived_ == parties_) {
      arrived_ = 0;
      ++round_;
      complete_.broadcast();
    } else {
      while (round_ == round && !over_) {
        mutex_.wait(complete_);
      }
    }
    mutex_.unlock();
  }

  /// Lets all threads go on, from now on without waiting.
  void end() {
    mutex_.lock();
    over_ = true;
    complete_.broadcast();
    mutex_.unlock();
  }

 private:
  std::uint64_t parties_;
  guarded& mutex_;
  guarded::condvar& complete_;
  std::uint64_t arrived_ = 0;
  std::uint64_t round_ = 0;
  bool over_ = false;
};

class modelled : public workload {
 public:
  explicit modelled(const context& with) : in_{with.in} {
    program_.read(with.given.text("model"));
    if (program_.threads() != with.threads()) {
      refuse("the model has " + std::to_string(program_.threads()) +
             " threads; give as many with "
             "'--threads'");
    }
    for (const modelled_mutex& about : program_.mutexes) {
      guards_.push_back(std::make_unique<modelled_guard>(with, about));
    }
    // Threads of a role are spread over the machine as all are.
    std::vector<std::uint64_t> left;
    for (const modelled_role& role : program_.roles) {
      left.push_back(role.threads);
      barriers_.push_back(role.meets == 0 ? nullptr
                                          : std::make_unique<modelled_barrier>(with, role.threads));
    }
    while (members_.size() < with.threads()) {
      for (std::size_t role = 0; role < left.size(); ++role) {
        if (left[role] != 0) {
          --left[role];
          members_.push_back({&program_.roles[role], barriers_[role].get(), 0});
          sleep_words_.push_back(&placed<bed>(with.in, 0u));
        }
      }
    }
  }

  std::uint64_t step(std::uint32_t index) override {
    member& me = members_[index];
    const modelled_role& role = *me.role;
    random_source& random = in_.caller()->random;
    const std::uint64_t drawn = random.below(role.takes.back().weight_up_to);
    const auto taken = std::upper_bound(
        role.takes.begin(), role.takes.end(), drawn,
        [](std::uint64_t value, const modelled_role::choice& c) { return value < c.weight_up_to; });
    guards_[taken->mutex]->hold(*sleep_words_[index]);
    in_.work(role.gap.draw(random));
    if (role.blocks != 0 && random.below(million) < role.blocks) {
      // From nothing to twice the mean.
      constexpr std::uint64_t parts = 1 << 20;
      const picoseconds length = role.block / parts * random.below(2 * parts);
      sleep_for(*sleep_words_[index], length);
    }
    if (me.barrier != nullptr && ++me.sections == role.meets) {
      me.sections = 0;
      me.barrier->meet();
    }
    return 1;
  }

  void release_waiters() override {
    for (const auto& each : barriers_) {
      if (each != nullptr) {
        each->end();
      }
    }
  }

  [[nodiscard]] std::string find_fault(std::uint64_t /*operations*/) const override {
    const bool complete = std::all_of(guards_.begin(), guards_.end(),
                                      [](const auto& each) { return each->is_complete(); });
    return complete ? "" : "an atomic variable lost an addition";
  }

 private:
  struct member {
    const modelled_role* role;
    modelled_barrier* barrier;  ///< null without one
    std::uint64_t sections;     ///< since the last barrier
  };

  simulation& in_;
  model program_;
  std::vector<std::unique_ptr<modelled_guard>> guards_;
  std::vector<std::unique_ptr<modelled_barrier>> barriers_;  ///< by role
  std::vector<member> members_;                              ///< by thread
  std::vector<bed*> sleep_words_;                            ///< by thread
};

}  // namespace

std::unique_ptr<workload> make_modelled(const context& with) {
  return std::make_unique<modelled>(with);
}

}  // namespace lockwright::simulate
