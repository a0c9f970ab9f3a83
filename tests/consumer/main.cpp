// A program that uses a lock of the headers: four threads count to 40000.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "lockwright/env/native.hpp"
#include "lockwright/row/mcs_stp.hpp"

int main() {
  lockwright::mcs_stp_lock<lockwright::native> lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10000; ++j) {
        const std::lock_guard guard(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::printf("%d\n", count);
}
