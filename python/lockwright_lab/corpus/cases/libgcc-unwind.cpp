// Threads throw exceptions while a frame of generated code is registered, as by a JIT compiler.
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" void __register_frame(void*);

namespace {

// A CIE and a FDE of a function of 16 bytes, without augmentation; then the end.
alignas(8) unsigned char code[16];
struct [[gnu::packed]] {
  std::uint32_t cie_length = 12, cie_id = 0;
  std::uint8_t version = 1, augmentation = 0, code_align = 1, data_align = 0x78,
               return_register = 16;
  std::uint8_t nops[3] = {};
  std::uint32_t fde_length = 20, cie_pointer = 20;
  std::uint64_t begin = reinterpret_cast<std::uint64_t>(code), size = sizeof code;
  std::uint32_t end = 0;
} frames;

[[gnu::noinline]] void thrower(int depth) {
  if (depth == 0) throw depth;
  thrower(depth - 1);
  asm volatile("");
}

void work(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    try {
      thrower(10);
    } catch (int) {
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  int rounds = argc > 2 ? std::atoi(argv[2]) : 100000;
  __register_frame(&frames);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, rounds / threads);
  for (auto& each : all) each.join();
}
