// fuzz SEED STEPS: runs a random legal program over mutexes, condition variables, reader-writer
// locks and semaphores, and prints its observations, one line a step. The same seed gives the same
// program, which prints the same lines under every library that conforms to POSIX.
//
// One thread at a time gets a command, and the next step is drawn when all are idle or blocked,
// so nothing depends on speed. Choices that POSIX leaves open are not printed: waiters for the same
// object hold nothing and are interchangeable, and a waiter that is served takes the name of the
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
