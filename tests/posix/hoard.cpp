// Keeps as many mutexes as its argument says, each of which it has used.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

int main(int count, char** words) {
  const std::size_t mutexes = count == 2 ? std::strtoul(words[1], nullptr, 10) : 0;
  const std::unique_ptr<std::mutex[]> all{new std::mutex[mutexes]};
  for (std::size_t i = 0; i < mutexes; ++i) {
    const std::lock_guard held(all[i]);
  }
  std::puts("done");
}
