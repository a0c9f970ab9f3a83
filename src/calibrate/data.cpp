// Durations of reads of data in caches and in memory. `lockwright calibrate --machine-file` writes them
// into a machine file.
#include <atomic>
#include <string>
#include <vector>

#include "memory.hpp"
#include "probes.hpp"
#include "random_cycle.hpp"
#include "trials.hpp"

namespace bench {
namespace {

// Nanoseconds per step of a chase through `count` lines, `distance` bytes apart.
double chase_memory(std::size_t count, std::size_t distance, bool large_pages) {
  pages_of<char> memory(count * distance, large_pages);
  const std::vector<std::uint64_t> next = random_cycle(count, 1);
  random_source random(2);
  std::vector<std::uint64_t> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    places[i] = i * distance + random.below(distance / 64) * 64;
  }
  for (std::size_t i = 0; i < count; ++i) {
    *reinterpret_cast<std::uint64_t*>(&memory[places[i]]) = places[next[i]];
  }
  std::uint64_t place = places[0];
  for (std::size_t i = 0; i < count; ++i) {
    place = *reinterpret_cast<std::uint64_t*>(&memory[place]);
  }
  constexpr std::size_t steps = 200'000;
  const std::uint64_t began = now_ns();
  for (std::size_t i = 0; i < steps; ++i) {
    place = *reinterpret_cast<std::uint64_t*>(&memory[place]);
  }
  asm volatile("" : : "r"(place));
  return static_cast<double>(now_ns() - began) / steps;
}

// Reads of random words that do not depend on each other, as in the workload random-array.
double read_array(std::uint64_t words) {
  pages_of<std::uint32_t> array(words);
  random_source random(3);
  constexpr std::size_t reads = 100'000;
  for (std::size_t i = 0; i < reads; ++i) {
    do_not_optimize(array[random.below(words)]);
  }
  const std::uint64_t began = now_ns();
  for (std::size_t i = 0; i < reads; ++i) {
    do_not_optimize(array[random.below(words)]);
  }
  return static_cast<double>(now_ns() - began) / reads;
}

constexpr std::size_t words_of_mib = (std::size_t{1} << 20) / sizeof(std::uint32_t);

// As read_array(), while the processor `cpu` reads an array of the same size, of its own.
double read_array_beside(std::uint64_t words, std::int64_t cpu) {
  std::atomic<bool> is_over{false};
  other_thread other(cpu, [&] {
    pages_of<std::uint32_t> array(words);
    random_source random(4);
    while (!is_over.load(std::memory_order_relaxed)) {
      do_not_optimize(array[random.below(words)]);
    }
  });
  other.start();
  const double ns = read_array(words);
  is_over.store(true, std::memory_order_relaxed);
  other.join();
  return ns;
}

}  // namespace

int data(const options& given) {
  pin_to(given.processor("cpu-a"));
  constexpr std::size_t line_bytes = 64;
  constexpr std::size_t page_bytes = 4096;
  trials array, memory, near, paged;
  for (std::uint64_t i = 0; i < given.count("trials", 1); ++i) {
    array.add(read_array(given.count("words", 1)));
    memory.add(chase_memory((given.count("memory-mib", 1) << 20) / page_bytes, page_bytes, true));
    near.add(chase_memory(given.count("pages", 1), line_bytes, true));
    paged.add(chase_memory(given.count("pages", 1), page_bytes, false));
  }
  result line("data", "result");
  array.print(line, "array_read");
  memory.print(line, "memory");
  near.print(line, "line");
  paged.print(line, "page");
  const auto beside = given.processor("cpu-b");
  for (std::uint64_t mib = 1; beside >= 0 && mib <= given.count("most-mib"); mib *= 2) {
    trials both;
    for (std::uint64_t i = 0; i < given.count("trials", 1); ++i) {
      both.add(read_array_beside(mib * words_of_mib, beside));
    }
    both.print(line, "read_" + std::to_string(mib) + "_mib");
  }
  line.print();
  return 0;
}

}  // namespace bench
