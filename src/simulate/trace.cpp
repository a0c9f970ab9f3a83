#include "trace.hpp"

#include <cstdio>
#include <set>

namespace lockwright::simulate {
namespace {

// Processes of the timeline: the nodes, and then one for the simulated threads.
constexpr std::uint32_t first_node = 1;

void name(std::FILE* file, const char* what, std::uint32_t process, std::uint32_t track,
          const std::string& text) {
  std::fprintf(file,
               ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"%s\"}}",
               what, process, track, text.c_str());
}

// Microseconds with six decimals: picoseconds, without a rounding.
void show(std::FILE* file, const std::string& what, std::uint32_t process, std::uint32_t track,
          picoseconds begin, picoseconds end) {
  constexpr picoseconds of_us = 1'000'000;
  std::fprintf(file,
               ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%llu.%06llu,"
               "\"dur\":%llu.%06llu}",
               what.c_str(), process, track, static_cast<unsigned long long>(begin / of_us),
               static_cast<unsigned long long>(begin % of_us),
               static_cast<unsigned long long>((end - begin) / of_us),
               static_cast<unsigned long long>((end - begin) % of_us));
}

}  // namespace

void trace::held(const thread& holder, picoseconds called, picoseconds entered, picoseconds left) {
  if (spans_.size() < most_spans) {
    spans_.push_back({holder.number, holder.processor, called, entered, left});
  }
}

void trace::write(const std::string& path, const std::string& title) const {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    refuse("cannot write the trace '" + path + "'; check the path");
  }
  const std::uint32_t threads = first_node + machine_.nodes();
  std::fprintf(file, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":\"%s (simulated)\"},\n",
               title.c_str());
  std::fprintf(file,
               "\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,"
               "\"args\":{\"name\":\"simulated threads\"}}",
               threads);
  std::set<std::uint32_t> processors;
  std::set<std::uint32_t> numbers;
  for (const span& s : spans_) {
    processors.insert(s.processor);
    numbers.insert(s.thread);
  }
  for (std::uint32_t node = 0; node < machine_.nodes(); ++node) {
    name(file, "process_name", first_node + node, 0,
         "node " + std::to_string(node) + ": holder of the lock");
  }
  for (const std::uint32_t processor : processors) {
    name(file, "thread_name", first_node + machine_.of_processor(processor).node, processor + 1,
         "processor " + std::to_string(processor));
  }
  for (const std::uint32_t number : numbers) {
    name(file, "thread_name", threads, number + 1, "thread " + std::to_string(number));
  }
  for (const span& s : spans_) {
    const std::string label = "T" + std::to_string(s.thread);
    show(file, label, first_node + machine_.of_processor(s.processor).node, s.processor + 1,
         s.entered, s.left);
    if (s.entered != s.called) {
      show(file, "waits", threads, s.thread + 1, s.called, s.entered);
    }
    show(file, "holds", threads, s.thread + 1, s.entered, s.left);
  }
  std::fprintf(file, "\n]}\n");
  if (std::fclose(file) != 0) {
    refuse("cannot write the trace '" + path + "'; check the disk");
  }
}

}  // namespace lockwright::simulate
