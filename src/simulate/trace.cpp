#include "trace.hpp"

#include <cstdio>
#include <set>
#include <string_view>

namespace lockwright::simulate {
namespace {

// Tracks of the timeline: one for each node, with its processors below it, and one for the simulated
// threads, with each of them below it. Numbers identify them.
constexpr std::uint64_t first_node = 1;
constexpr std::uint64_t first_processor = 1'000'000;
constexpr std::uint64_t first_thread = 2'000'000;

/// A message of protocol buffers.
class message {
 public:
  message& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  message& text(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | length_delimited_);
    varint(value.size());
    bytes_.append(value);
    return *this;
  }
  message& inner(std::uint32_t field, const message& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  static constexpr std::uint64_t length_delimited_ = 2;

  void varint(std::uint64_t value) {
    constexpr std::uint64_t more = 0x80;
    for (; value >= more; value >>= 7) {
      bytes_.push_back(static_cast<char>(value | more));
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

// Numbers of fields, by message.
namespace of_trace {
constexpr std::uint32_t packet = 1;
}
namespace of_packet {
constexpr std::uint32_t timestamp = 8, sequence = 10, track_event = 11, track_descriptor = 60;
}
namespace of_descriptor {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, parent = 5, child_ordering = 11, rank = 12;
}
namespace of_process {
constexpr std::uint32_t pid = 1, name = 6;
}
namespace of_event {
constexpr std::uint32_t type = 9, track = 11, name = 23;
}

class perfetto_file {
 public:
  explicit perfetto_file(std::FILE* file) : file_{file} {}

  void group(std::uint64_t track, const std::string& name) {
    const message process = message().number(of_process::pid, track).text(of_process::name, name);
    constexpr std::uint64_t by_rank = 3;
    put(message().inner(of_packet::track_descriptor,
                        message()
                            .number(of_descriptor::uuid, track)
                            .inner(of_descriptor::process, process)
                            .number(of_descriptor::child_ordering, by_rank)));
  }
  void track(std::uint64_t track, std::uint64_t group, std::uint32_t rank,
             const std::string& name) {
    put(message().inner(of_packet::track_descriptor, message()
                                                         .number(of_descriptor::uuid, track)
                                                         .number(of_descriptor::parent, group)
                                                         .text(of_descriptor::name, name)
                                                         .number(of_descriptor::rank, rank)));
  }
  void slice(std::uint64_t track, std::string_view name, picoseconds begin, picoseconds end) {
    constexpr std::uint64_t begins = 1;
    constexpr std::uint64_t ends = 2;
    event(begin, message()
                     .number(of_event::type, begins)
                     .number(of_event::track, track)
                     .text(of_event::name, name));
    event(end, message().number(of_event::type, ends).number(of_event::track, track));
  }

 private:
  void event(picoseconds at, const message& what) {
    constexpr picoseconds of_ns = 1000;
    put(message().number(of_packet::timestamp, at / of_ns).inner(of_packet::track_event, what));
  }
  /// All packets are of one writer.
  void put(message packet) {
    packet.number(of_packet::sequence, 1);
    const message whole = message().inner(of_trace::packet, packet);
    std::fwrite(whole.bytes().data(), 1, whole.bytes().size(), file_);
  }

  std::FILE* file_;
};

}  // namespace

void trace::held(const thread& holder, picoseconds called, picoseconds entered, picoseconds left) {
  if (spans_.size() < most_spans) {
    spans_.push_back({holder.number, holder.processor, called, entered, left});
  }
}

void trace::write(const std::string& path, const std::string& title) const {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    refuse("cannot write the trace '" + path + "'; check the path");
  }
  perfetto_file to(file);
  const std::uint64_t threads = first_node + machine_.nodes();
  std::set<std::uint32_t> processors;
  std::set<std::uint32_t> numbers;
  for (const span& s : spans_) {
    processors.insert(s.processor);
    numbers.insert(s.thread);
  }
  for (std::uint32_t node = 0; node < machine_.nodes(); ++node) {
    to.group(first_node + node, "node " + std::to_string(node) + ": holder of the lock");
  }
  for (const std::uint32_t processor : processors) {
    to.track(first_processor + processor, first_node + machine_.of_processor(processor).node,
             processor, "processor " + std::to_string(processor));
  }
  to.group(threads, title + " (simulated): threads");
  for (const std::uint32_t number : numbers) {
    to.track(first_thread + number, threads, number, "thread " + std::to_string(number));
  }
  for (const span& s : spans_) {
    to.slice(first_processor + s.processor, "T" + std::to_string(s.thread), s.entered, s.left);
    if (s.entered != s.called) {
      to.slice(first_thread + s.thread, "waits", s.called, s.entered);
    }
    to.slice(first_thread + s.thread, "holds", s.entered, s.left);
  }
  const bool is_written = std::ferror(file) == 0;
  if (std::fclose(file) != 0 || !is_written) {
    refuse("cannot write the trace '" + path + "'; check the disk");
  }
}

}  // namespace lockwright::simulate
