// allocations THREADS NUMBER: each thread allocates and frees blocks of 64 to 1,000 bytes.
#include <cstdlib>
#include <thread>
#include <vector>

static void work(long rounds) {
  void* blocks[64] = {};
  unsigned random = 1;
  for (long i = 0; i < rounds; ++i) {
    random = random * 1103515245 + 12345;
    void*& block = blocks[random >> 16 & 63];
    std::free(block);
    block = std::malloc(64 + (random >> 8) % 937);
    *static_cast<volatile char*>(block) = 1;
  }
  for (void* block : blocks) std::free(block);
}

int main(int, char** words) {
  int threads = std::atoi(words[1]);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, std::atol(words[2]) / threads);
  for (auto& each : all) each.join();
}
