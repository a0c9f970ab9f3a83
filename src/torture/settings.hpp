// The program's arguments.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace torture {

struct settings {
  std::uint64_t seed = 1;
  double seconds = 10;
  // How long a thread may be without progress while this program itself runs.
  double patience = 10;
  // Waiters of the lock sleep, so there may be many more threads than processors.
  bool parks = true;
  // The lock promises to admit in the order of arrival.
  bool fifo = false;
  // A lock with a passive set admits each of its threads after about this many acquisitions.
  std::uint64_t turns = 1000;
  // The only phase to run, again and again; -1 for all, one after the other.
  std::int64_t phase = -1;
  // Kinds of phases and disturbances to leave out.
  std::vector<std::string> without;
  // The kinds of phases to run; empty for all.
  std::vector<std::string> only;
  // The parent process, whose end ends this one; 0 to run without it.
  pid_t parent = 0;

  [[nodiscard]] bool wants(const std::string& kind) const;
};

// Ends the program with one line and status 2 if the arguments are invalid.
settings read_settings(int argc, char** argv);

// Processors that this process may use.
std::uint64_t processors();

}  // namespace torture
