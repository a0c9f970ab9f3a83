// fuzz SEED STEPS: a random legal program over mutexes, condition variables, reader-writer locks
// and semaphores, and what it can observe, one line a step. The same seed gives the same program,
// and every library that keeps POSIX's promises has it print the same lines.
//
// One thread at a time gets a command, and the next step is drawn when all are idle or blocked,
// so nothing depends on speed. What POSIX leaves open is not printed: waiters for the
// same thing hold nothing and are alike, and when one of them is served it is given the name of the
// first of them.
#include <csignal>
#include <cstdlib>

#include "program.hpp"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: fuzz SEED STEPS\n", stderr);
    return 2;
  }
  struct sigaction action{};
  action.sa_handler = [](int) { fuzz::handled.fetch_add(1); };
  sigaction(SIGUSR1, &action, nullptr);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  fuzz::Program program(std::strtoull(argv[1], nullptr, 10));
  const int steps = std::atoi(argv[2]);
  for (int number = 0; number < steps; ++number) program.step(number);
  std::puts("end");
  std::fflush(stdout);
  _exit(0);  // some may be blocked
}
