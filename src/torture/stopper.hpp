// A small process that stops and continues this one at random times.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace torture {

class stopper {
 public:
  // Starts the process. To be called while this one has a single thread.
  explicit stopper(std::uint64_t seed);
  stopper(const stopper&) = delete;
  stopper& operator=(const stopper&) = delete;
  ~stopper();

  void allow(bool stops);
  [[nodiscard]] std::uint64_t stops() const;

 private:
  struct shared;
  [[noreturn]] static void work(shared& with, int target, pid_t parent, std::uint64_t seed);

  shared* shared_;
  pid_t process_;
};

}  // namespace torture
