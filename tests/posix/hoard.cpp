// Uses as many mutexes as its argument states, which exist at the same time.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

int main(int count, char** words) {
  const std::size_t number = count == 2 ? std::strtoul(words[1], nullptr, 10) : 0;
  const std::unique_ptr<std::mutex[]> mutexes{new std::mutex[number]};
  for (std::size_t i = 0; i < number; ++i) {
    const std::lock_guard held(mutexes[i]);
  }
  std::puts("done");
}
