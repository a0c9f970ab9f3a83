#include "trace.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockwright/env/model.hpp"
#include "lockwright/env/model/order_name.hpp"

namespace lockwright::check {
namespace {

using model_env::bits_of;
using model_env::event;
using model_env::name_of;

/// Lines shown of the beginning and of the end of a long execution.
constexpr std::size_t first_lines = 80;
constexpr std::size_t last_lines = 60;

/// The column at which the source lines begin.
constexpr std::size_t source_column = 78;

/// The lines of the sources that an execution went through.
class sources {
 public:
  [[nodiscard]] std::string_view line(const char* file, std::uint32_t number) {
    const auto [at, fresh] = files_.try_emplace(file);
    if (fresh) {
      std::ifstream in(file);
      for (std::string text; std::getline(in, text);) {
        at->second.push_back(text);
      }
    }
    const bool there = number != 0 && number <= at->second.size();
    return there ? std::string_view(at->second[number - 1]) : std::string_view();
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The last word of `text`: "next" of "before->next", "slots_" of "slots_[at % n]".
std::string_view last_word(std::string_view text) {
  while (!text.empty() && text.back() == ']') {
    const std::size_t open = text.rfind('[');
    if (open == std::string_view::npos) {
      return {};
    }
    text.remove_suffix(text.size() - open);
  }
  std::size_t begin = text.size();
  while (begin != 0 && is_word(text[begin - 1])) {
    --begin;
  }
  return text.substr(begin);
}

struct named {
  std::string name;
  bool member = false;  ///< a member's name, not that of a parameter that refers to it
};

/// The name of a step's object in the source: the word before ".exchange(" or before " = ", or the
/// argument of "wait("; of several on one line, that of the call nearest to the column.
std::optional<named> name_in(std::string_view line, const event& e) {
  std::string_view word;
  std::size_t least = std::string_view::npos;
  const auto consider = [&](std::size_t at, std::string_view found) {
    const std::size_t column = e.at.column();
    const std::size_t distance = at > column ? at - column : column - at;
    if (!found.empty() && distance < least) {
      least = distance;
      word = found;
    }
  };
  if (e.what == event::write) {
    for (std::size_t at = line.find(" = "); at != std::string_view::npos;
         at = line.find(" = ", at + 1)) {
      consider(at, last_word(line.substr(0, at)));
    }
  } else if (e.what == event::sleep || e.what == event::wake) {
    for (std::size_t at = line.find('('); at != std::string_view::npos;
         at = line.find('(', at + 1)) {
      const std::size_t end = std::min(line.find(',', at), line.size());
      consider(at, last_word(line.substr(0, end)));
    }
  } else {
    for (std::size_t at = line.find(e.name); at != std::string_view::npos && *e.name != '\0';
         at = line.find(e.name, at + 1)) {
      const std::string_view before = line.substr(0, at);
      if (before.ends_with('.')) {
        consider(at, last_word(before.substr(0, at - 1)));
      } else if (before.ends_with("->")) {
        consider(at, last_word(before.substr(0, at - 2)));
      }
    }
  }
  if (word.empty()) {
    return {};
  }
  const auto begin = static_cast<std::size_t>(word.data() - line.data());
  const std::string_view before = line.substr(0, begin);
  return named{std::string(word),
               word.ends_with('_') || before.ends_with('.') || before.ends_with("->")};
}

class trace_writer {
 public:
  explicit trace_writer(std::uint32_t threads) : threads_(threads) {
    for (std::size_t i = 0; i < model_env::history_now.count; ++i) {
      const event& e = model_env::history_now.events[i];
      if (e.what == event::call) {
        locks_[e.object] = {e.owner, e.after};
      } else if (e.object != nullptr && e.at.line() != 0) {
        record_name(e);
      }
    }
  }

  explanation explain(rl::test_result_e how) {
    std::vector<std::string> lines;
    std::string repeated;
    std::size_t times = 0;
    explanation all;
    for (std::size_t i = 0; i < model_env::history_now.count; ++i) {
      const event& e = model_env::history_now.events[i];
      ++all.count;
      const std::string text = line(e);
      if (text == repeated) {
        ++times;
        continue;
      }
      if (times > 1) {
        lines.back() += "  (" + std::to_string(times) + " times)";
      }
      lines.push_back(text);
      repeated = text;
      times = 1;
    }
    if (times > 1) {
      lines.back() += "  (" + std::to_string(times) + " times)";
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines.size() > first_lines + last_lines && i == first_lines) {
        const std::size_t left_out = lines.size() - first_lines - last_lines;
        all.steps += "      ... " + std::to_string(left_out) + " more ...\n";
        i += left_out;
      }
      std::string number = std::to_string(i + 1);
      number.insert(0, number.size() < 4 ? 4 - number.size() : 0, ' ');
      all.steps += number + "  " + lines[i] + '\n';
    }
    all.end = end(how);
    return all;
  }

 private:
  struct lock {
    std::string name;
    std::size_t bytes = 0;
  };

  void record_name(const event& e) {
    const std::optional<named> found = name_in(text_.line(e.at.file_name(), e.at.line()), e);
    if (found) {
      named& known = names_[e.object];
      if (known.name.empty() || (found->member && !known.member)) {
        known = *found;
      }
    }
  }

  /// "node#2.next", "tail_", "of the inner lock: tail_".
  std::string name_of_object(const void* object) const {
    const auto known = names_.find(object);
    std::string name = known == names_.end() ? "a variable" : known->second.name;
    if (const std::size_t node = model_env::execution_now.node_number(object)) {
      return "node#" + std::to_string(node) + "." + name;
    }
    if (known != names_.end() && has_namesake(object, name)) {
      name += "@" + std::to_string(reinterpret_cast<std::uintptr_t>(object) % 4096);
    }
    if (locks_.size() > 1) {
      for (const auto& [begin, l] : locks_) {
        const auto* first = static_cast<const char*>(begin);
        if (first <= object && object < first + l.bytes) {
          return name + " of " + l.name;
        }
      }
    }
    return name;
  }

  /// Elements of an array and members of equal types have the same name.
  bool has_namesake(const void* object, const std::string& name) const {
    return std::ranges::any_of(names_, [&](const auto& other) {
      return other.first != object && other.second.name == name &&
             model_env::execution_now.node_number(other.first) == 0 &&
             lock_of(other.first) == lock_of(object);
    });
  }

  const void* lock_of(const void* object) const {
    for (const auto& [begin, l] : locks_) {
      const auto* first = static_cast<const char*>(begin);
      if (first <= object && object < first + l.bytes) {
        return begin;
      }
    }
    return nullptr;
  }

  /// A number, or the name of the object at that address, which may have marks in its low bits.
  static std::string value(std::uint64_t bits) {
    const auto* object = reinterpret_cast<const void*>(bits);
    if (const std::size_t node = model_env::execution_now.node_number(object)) {
      const std::uint64_t marks = bits % 64;
      return "node#" + std::to_string(node) + (marks != 0 ? "+" + std::to_string(marks) : "");
    }
    if (const std::size_t block = model_env::execution_now.block_number(object)) {
      return "block#" + std::to_string(block);
    }
    const auto graveyard = bits_of(static_cast<const void*>(model_env::graveyard));
    if (graveyard <= bits && bits < graveyard + sizeof model_env::graveyard) {
      return "junk";
    }
    constexpr std::uint64_t looks_like_an_address = std::uint64_t{1} << 40;
    if (bits == ~std::uint64_t{0}) {
      return "-1";
    }
    return bits < looks_like_an_address ? std::to_string(bits) : "an address";
  }

  std::string what(const event& e) const {
    std::string order = e.has_order ? " " + std::string(name_of(e.order)) : "";
    const auto object = [&] { return name_of_object(e.object); };
    switch (e.what) {
      case event::load:
        return std::string(e.name) + " " + object() + order + ": " + value(e.after) +
               (e.before == e.after ? "" : " (an old value; by now it is " + value(e.before) + ")");
      case event::store:
      case event::change:
        return std::string(e.name) + " " + object() + order + ": " + value(e.before) + " -> " +
               value(e.after);
      case event::mismatch:
        return std::string(e.name) + " " + object() + order + ": finds " + value(e.before) +
               ", not " + value(e.after);
      case event::fence:
        return e.name;
      case event::sleep:
        return "sleeps while " + object() + " is " + value(e.after);
      case event::awake:
        return "sleeps no more" + std::string(*e.name == '\0' ? "" : ": ") + e.name;
      case event::wake:
        return (e.after == 1 ? "wakes one that sleeps on " : "wakes all that sleep on ") + object();
      case event::take_node:
        return "takes " + value(bits_of(e.object)) + " for itself";
      case event::give_node:
        return "gives " + value(bits_of(e.object)) + " back";
      case event::read:
        return "reads " + object() + ": " + value(e.after);
      case event::write:
        return "writes " + object() + ": " + value(e.before) + " -> " + value(e.after);
      case event::call:
        return "calls " + std::string(e.name) + lock_name(e);
      case event::returned:
        return "returns from " + std::string(e.name) + lock_name(e);
      case event::replaced:
        return "ends, and another thread begins in its place";
      case event::ended:
        return "ends";
    }
    return "";
  }

  std::string lock_name(const event& e) const {
    return locks_.size() > 1 ? " (" + std::string(e.owner) + ")" : "";
  }

  static std::string place(std::string_view file, std::uint32_t line) {
    // What the environment detects has no source line in the lock.
    if (line == 0 || file.find("/env/model/") != std::string_view::npos) {
      return "";
    }
    const std::size_t slash = file.rfind('/');
    return std::string(slash == std::string_view::npos ? file : file.substr(slash + 1)) + ":" +
           std::to_string(line);
  }

  [[nodiscard]] std::string thread(std::uint32_t index) const {
    return index < threads_ ? "T" + std::to_string(index) : "end";
  }

  /// One line with a column for each thread, and the source line.
  std::string line(const event& e) const {
    std::string text;
    const std::uint32_t column = std::min(e.thread, threads_);
    text.append(std::size_t{4} * (e.thread < threads_ ? column : 0), ' ');
    text += thread(e.thread);
    text.append(std::size_t{4} * threads_ + 1 - std::min(text.size(), std::size_t{4} * threads_),
                ' ');
    text += what(e);
    const std::string where = place(e.at.file_name(), e.at.line());
    if (!where.empty()) {
      text.append(text.size() < source_column ? source_column - text.size() : 1, ' ');
      text += " " + where;
    }
    return text;
  }

  /// The last step of each thread.
  std::string last_steps() const {
    std::string text;
    for (std::uint32_t t = 0; t < threads_; ++t) {
      const event* last = nullptr;
      for (std::size_t i = 0; i < model_env::history_now.count; ++i) {
        const event& e = model_env::history_now.events[i];
        last = e.thread == t ? &e : last;
      }
      text += (text.empty() ? "" : "; ") + thread(t);
      if (last == nullptr) {
        text += " has not begun";
      } else {
        const std::string where = place(last->at.file_name(), last->at.line());
        text += " " + what(*last) + (where.empty() ? "" : " (" + where + ")");
      }
    }
    return text;
  }

  std::string end(rl::test_result_e how) const {
    const model_env::history& h = model_env::history_now;
    if (how == rl::test_result_deadlock) {
      return "no thread can proceed. The last step of each: " + last_steps();
    }
    if (how == rl::test_result_livelock) {
      return "the threads poll forever, and none is admitted. The last step of each: " +
             last_steps();
    }
    if (h.problem == nullptr) {
      return rl::test_result_str(how);
    }
    const std::string who = h.thread < threads_ ? thread(h.thread) + ": " : "";
    const std::string where = place(h.file, h.line);
    return who + (how == rl::test_result_user_assert_failed ? "this does not hold: " : "") +
           h.problem + (where.empty() ? "" : " (" + where + ")");
  }

  std::uint32_t threads_;
  sources text_;
  std::map<const void*, lock> locks_;
  std::map<const void*, named> names_;
};

}  // namespace

explanation explain_history(rl::test_result_e how, std::uint32_t threads) {
  return trace_writer(threads).explain(how);
}

}  // namespace lockwright::check
