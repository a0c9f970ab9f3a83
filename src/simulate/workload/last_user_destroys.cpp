// A lock that is destroyed as early as a program may: last-user-destroys.
#include <cstdint>
#include <vector>

#include "../workload.hpp"

namespace lockwright::simulate {
namespace {

/// All take a lock once; the last to have had it destroys it, and then they take the next one.
class last_user_destroys : public workload {
 public:
  explicit last_user_destroys(const context& with)
      : in_{with.in}, lock_{*with.lock}, threads_{with.threads()}, turns_(with.threads()) {
    begin();
  }

  std::uint64_t step(std::uint32_t index) override {
    while (turns_[index] > round_) {
      if (in_.is_over()) {
        return 0;
      }
      in_.spend(look_again);
    }
    ++turns_[index];
    void* const lock = now_;
    lock_.lock(lock);
    in_.work(section);
    const bool last = ++users_ == threads_;
    lock_.unlock(lock);
    if (last) {
      in_.pass_time();
      in_.drain_stores();
      lock_.destroy(lock);
      in_.kill(lock, lock_.bytes);
      begin();
      ++round_;
    }
    return 1;
  }

 private:
  static constexpr picoseconds look_again = 50'000;
  static constexpr picoseconds section = 100'000;

  void begin() {
    constexpr std::size_t pair = workloads::cache_line_pair;
    users_ = 0;
    now_ = in_.memory.cut((lock_.bytes + pair - 1) / pair * pair, pair);
    lock_.make(now_);
  }

  simulation& in_;
  const lock_entry& lock_;
  std::uint64_t threads_;
  std::vector<std::uint64_t> turns_;
  std::uint64_t round_ = 0;
  std::uint64_t users_ = 0;
  void* now_ = nullptr;
};

}  // namespace

std::unique_ptr<workload> make_last_user_destroys(const context& with) {
  return std::make_unique<last_user_destroys>(with);
}

}  // namespace lockwright::simulate
