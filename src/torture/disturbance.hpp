// External disturbances of the threads of a phase, applied at each tick.
#pragma once

#include <cstdint>

#include "dice.hpp"

namespace torture {

class phase_run;
class stopper;

class disturbance {
 public:
  disturbance(phase_run& on, stopper& stops);
  void on_tick();
  // Stops all disturbances.
  void end();

 private:
  void stutter();
  void shuffle();
  void send_signals();

  phase_run& on_;
  stopper& stops_;
  dice draw_;
  bool halted_ = false;
  std::uint64_t next_stutter_ = 0;
  std::uint64_t next_shuffle_ = 0;
};

// Called before any thread starts: sets the signal handler, and reads the processors.
void prepare_disturbances();

// How many signals have been handled.
std::uint64_t signals_handled();

}  // namespace torture
