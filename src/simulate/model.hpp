// A model of a program: how long it holds which mutexes, and what its threads do between sections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine.hpp"

namespace lockwright::simulate {

/// A histogram of durations, from which lengths are drawn; all of a bucket are alike.
class distribution {
 public:
  void add(picoseconds low, picoseconds high, std::uint64_t weight);
  [[nodiscard]] bool is_empty() const { return weight_ == 0; }
  /// 0 if it is empty.
  [[nodiscard]] picoseconds draw(random_source& random) const;

 private:
  struct bucket {
    picoseconds low;
    picoseconds high;
    std::uint64_t weight_up_to;  ///< of this bucket and all before it
  };

  std::vector<bucket> buckets_;
  std::uint64_t weight_ = 0;
};

/// What guards the data of a modelled mutex.
enum class guard : std::uint8_t {
  lock,    ///< the simulated lock, or `lock_name`
  rwlock,  ///< a reader-writer lock
  atomic,  ///< no lock: a section is one read-modify-write
};

struct modelled_mutex {
  std::uint64_t instances = 1;  ///< of which each acquisition takes any one
  guard kind = guard::lock;
  std::string lock_name;     ///< "" for the lock of the simulation
  std::uint64_t reads = 0;   ///< of a reader-writer lock: acquisitions that read, per million
  bool polls = false;        ///< threads wait by trying it
  std::uint64_t asleep = 0;  ///< the part of each section in which its holder sleeps, per million
  std::optional<std::uint64_t> data_lines;  ///< that a section changes; none: --data-lines
  distribution section;
};

struct modelled_role {
  struct choice {
    std::size_t mutex;
    std::uint64_t weight_up_to;
  };

  std::uint64_t threads = 0;
  distribution gap;          ///< processor time between two sections
  std::uint64_t blocks = 0;  ///< gaps in which the thread sleeps, per million
  picoseconds block = 0;     ///< the mean of these sleeps
  std::uint64_t meets = 0;   ///< sections of a thread before a barrier of the role; 0: none
  std::vector<choice> takes;
};

/// The mutexes of a program, and its threads, which do the same again and again.
struct model {
  std::vector<modelled_mutex> mutexes;
  std::vector<modelled_role> roles;

  /// Reads the lines that `lockwright simulate` writes. Ends the program with one line and status 2
  /// for any other text.
  void read(const std::string& path);
  [[nodiscard]] std::uint64_t threads() const;
};

}  // namespace lockwright::simulate
