// Sections and gaps of work: uncontested, single-lock, lockbench, variable-contention, migration.
#include "workloads.hpp"

#include <memory>
#include <vector>

namespace lockwright::simulate {
namespace {

class uncontested : public workload {
 public:
  explicit uncontested(const context& with)
      : in_{with.in}, section_{with.cycles("section-cycles")} {
    for (std::uint64_t i = 0; i < with.threads(); ++i) {
      sites_.push_back(with.make_site());
    }
  }

  std::uint64_t step(std::uint32_t index) override {
    site& mine = *sites_[index];
    mine.lock();
    mine.change_data();
    in_.work(section_);
    mine.unlock();
    return 1;
  }

 private:
  simulation& in_;
  picoseconds section_;
  std::vector<std::unique_ptr<site>> sites_;
};

class single_lock : public workload {
 public:
  explicit single_lock(const context& with)
      : in_{with.in},
        section_{with.cycles("section-cycles")},
        gap_{with.cycles("gap-cycles")},
        shared_{with.make_site()} {}

  std::uint64_t step(std::uint32_t) override {
    shared_->lock();
    shared_->change_data();
    in_.work(section_);
    shared_->unlock();
    in_.work(gap_);
    return 1;
  }

 protected:
  simulation& in_;

 private:
  picoseconds section_;
  picoseconds gap_;
  std::unique_ptr<site> shared_;
};

class lockbench : public workload {
 public:
  explicit lockbench(const context& with)
      : in_{with.in},
        section_{interval(with, "section-min-ns", "section-max-ns")},
        gap_{interval(with, "gap-min-ns", "gap-max-ns")},
        shared_{with.make_site()} {}

  std::uint64_t step(std::uint32_t) override {
    random_source& random = in_.caller()->random;
    const picoseconds section = section_.draw(random);
    shared_->lock();
    shared_->change_data();
    in_.work(section);
    shared_->unlock();
    in_.work(gap_.draw(random));
    return 1;
  }

 private:
  struct range {
    picoseconds low;
    picoseconds span;
    [[nodiscard]] picoseconds draw(random_source& random) const { return low + random.below(span); }
  };
  static range interval(const context& with, const char* low, const char* high) {
    const picoseconds from = with.lasting(low, 1000);
    const picoseconds to = with.lasting(high, 1000);
    if (to < from) {
      refuse(std::string("'--") + high + "' is below '--" + low + "'; give a larger one");
    }
    return {from, to - from};
  }

  simulation& in_;
  range section_;
  range gap_;
  std::unique_ptr<site> shared_;
};

class variable_contention : public workload {
 public:
  explicit variable_contention(const context& with)
      : in_{with.in}, section_{with.cycles("section-cycles")}, gap_{with.cycles("gap-cycles")} {
    const std::uint64_t locks = with.given.count("locks");
    if (locks == 0) {
      refuse("'--locks 0' leaves nothing to lock; give at least 1");
    }
    for (std::uint64_t i = 0; i < locks; ++i) {
      sites_.push_back(with.make_site());
    }
  }

  std::uint64_t step(std::uint32_t) override {
    site& one = *sites_[in_.caller()->random.below(sites_.size())];
    one.lock();
    one.change_data();
    in_.work(section_);
    one.unlock();
    in_.work(gap_);
    return 1;
  }

 private:
  simulation& in_;
  picoseconds section_;
  picoseconds gap_;
  std::vector<std::unique_ptr<site>> sites_;
};

class migration : public single_lock {
 public:
  explicit migration(const context& with)
      : single_lock{with}, every_{with.given.count("move-every")}, since_(with.threads()) {
    for (std::size_t i = 0; i < since_.size(); ++i) {
      since_[i] = every_ * i / since_.size();
      at_.push_back(static_cast<std::uint32_t>(i));
    }
  }

  std::uint64_t step(std::uint32_t index) override {
    single_lock::step(index);
    if (++since_[index] >= every_) {
      since_[index] = 0;
      in_.move_to(++at_[index] % in_.on().processors());
    }
    return 1;
  }

 private:
  std::uint64_t every_;
  std::vector<std::uint64_t> since_;
  std::vector<std::uint32_t> at_;  ///< where each thread was bound last, its index before that
};

}  // namespace

std::vector<description> workloads_of_sections() {
  return {
      {"uncontested",
       "each thread takes a lock that no other wants",
       {{"section-cycles", 100, "work while the lock is held"}},
       make_workload<uncontested>},
      {"single-lock",
       "all threads want one lock, for sections that are all alike",
       {{"section-cycles", 1000, "work while the lock is held"},
        {"gap-cycles", 0, "work between two acquisitions of a thread"}},
       make_workload<single_lock>},
      {"lockbench",
       "sections and gaps whose lengths are drawn evenly from an interval",
       {{"section-min-ns", 0, "shortest work while the lock is held"},
        {"section-max-ns", 3700, "longest, never reached"},
        {"gap-min-ns", 0, "shortest work between two acquisitions of a thread"},
        {"gap-max-ns", 3700, "longest, never reached"}},
       make_workload<lockbench>},
      {"variable-contention",
       "threads that take any one of several locks",
       {{"locks", 16, "locks"},
        {"section-cycles", 1000, "work while a lock is held"},
        {"gap-cycles", 0, "work between two acquisitions of a thread"}},
       make_workload<variable_contention>},
      {"migration",
       "threads that want one lock and each move to another processor now and then",
       {{"section-cycles", 100, "work while the lock is held"},
        {"gap-cycles", 500, "work between two acquisitions of a thread"},
        {"move-every", 1000, "acquisitions of a thread after which it moves"}},
       make_workload<migration>},
  };
}

}  // namespace lockwright::simulate
