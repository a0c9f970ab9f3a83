#include "caches.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lockwright::simulate {

void caches::open(arena& memory) {
  table_ = static_cast<std::uint32_t*>(
      memory.cut(arena::capacity / arena::line_bytes * sizeof(std::uint32_t), 4096));
}

std::uint32_t caches::number_of(const void* at, std::uint32_t core) {
  if (!arena::contains(at)) [[unlikely]] {
    fail("the lock has an atomic outside of itself, its nodes and its threads' stacks");
  }
  const std::uintptr_t place =
      (reinterpret_cast<std::uintptr_t>(at) - arena::base) / arena::line_bytes;
  std::uint32_t& number = table_[place];
  if (number == 0) {
    // The kernel gives a page the memory of the node that touches it first.
    constexpr std::uint32_t lines_of_page = 64;
    const std::size_t page = place / lines_of_page;
    if (page >= home_of_page_.size()) {
      home_of_page_.resize(page + 1, nobody);
    }
    if (home_of_page_[page] == nobody) {
      home_of_page_[page] = machine_.of_core(core).node;
    }
    lines_.emplace_back();
    lines_.back().home = home_of_page_[page];
    number = static_cast<std::uint32_t>(lines_.size());
  }
  return number - 1;
}

caches::others caches::others_of(const cached_line& l, std::uint32_t core) const {
  others found{0, distance::two_hops, distance::core};
  for (std::uint32_t word = 0; word * 64 < machine_.cores(); ++word) {
    for (std::uint64_t bits = l.copies[word]; bits != 0; bits &= bits - 1) {
      const std::uint32_t other = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (other != core) {
        const distance away = machine_.between_cores(core, other);
        ++found.count;
        found.nearest = std::min(found.nearest, away);
        found.farthest = std::max(found.farthest, away);
      }
    }
  }
  if (found.count == 0) {
    found.nearest = distance::core;
  }
  return found;
}

bool caches::has(std::uint32_t number, std::uint32_t core, access how) {
  cached_line& l = lines_[number];
  if (l.dead) [[unlikely]] {
    fail("the lock is broken: a thread touches a lock that the last user has destroyed");
  }
  if (how == access::load) {
    return l.has_copy(core);
  }
  if (l.writer == core) {
    l.modified = true;
    return true;
  }
  // The only copy, which was got for reading, may be written to without a message to other cores.
  if (!l.busy && l.has_copy(core) && others_of(l, core).count == 0) {
    l.writer = core;
    l.modified = true;
    return true;
  }
  return false;
}

void caches::request(std::uint32_t number, std::uint32_t core, access how, thread& requester) {
  cached_line& l = lines_[number];
  const waiting what{core, how, &requester, 0, timeline_.now};
  if (l.busy) {
    l.queue.push_back(what);
  } else {
    start(number, what);
  }
}

distance caches::by_way_of_home(distance direct, std::uint32_t core, const cached_line& l) const {
  if (machine_.all.directory == 0 || direct <= distance::cache) {
    return direct;
  }
  return std::max(direct, machine_.to_node(core, l.home));
}

void caches::start(std::uint32_t number, const waiting& what) {
  cached_line& l = lines_[number];
  const figures& f = machine_.all;
  const others found = others_of(l, what.core);
  const cost_by_distance& costs = what.how == access::load    ? f.load
                                  : what.how == access::store ? f.store
                                                              : f.rmw;
  const bool copied = found.count != 0 || l.has_copy(what.core);
  // A reader gets it from the nearest copy; a writer has to hear from the farthest.
  const distance away =
      !copied
          ? machine_.to_node(what.core, l.home)
          : by_way_of_home(what.how == access::load ? found.nearest : found.farthest, what.core, l);
  const auto at = static_cast<std::size_t>(away);
  picoseconds cost = copied ? costs[at] : f.memory[at];
  if (copied) {
    ++counts_.transfers[at];
  } else {
    ++counts_.from_memory;
  }
  bool frees_line = true;
  l.busy = true;
  const bool for_writing =
      what.how != access::load || (f.migratory != 0 && l.writer != nobody && l.modified);
  if (for_writing) {
    if (found.count != 0) {
      counts_.invalidations += found.count;
      cost += f.invalidate * (found.count - 1);
    }
    l.writer = nobody;
    ++l.version;
  } else if (l.writer == nobody) {
    frees_line = f.shared_read >= cost;
  } else {
    l.writer = nobody;
  }
  // The request has been under way while others were served.
  cost -= std::min(cost * f.request / 1000, timeline_.now - what.asked_at);
  cost = random_.around(cost, f.jitter);
  std::uint32_t index = 0;
  if (free_transfers_.empty()) {
    index = static_cast<std::uint32_t>(transfers_.size());
    transfers_.emplace_back();
  } else {
    index = free_transfers_.back();
    free_transfers_.pop_back();
  }
  transfers_[index] = {number, l.version, what, frees_line, for_writing};
  timeline_.add(timeline_.now + cost, occasion::transferred, index);
  if (!frees_line) {
    timeline_.add(timeline_.now + f.shared_read, occasion::line_free, number);
  }
}

caches::arrival caches::complete(std::uint32_t index) {
  const transfer ended = transfers_[index];
  free_transfers_.push_back(index);
  cached_line& l = lines_[ended.line];
  if (ended.for_writing) {
    l.copies = {};
    l.add_copy(ended.what.core);
    l.writer = ended.what.core;
    l.modified = ended.what.how != access::load;
    on_change(ended.line);
  } else if (l.version == ended.version) {
    l.add_copy(ended.what.core);
  }  // Else a writer has taken it meanwhile, and the reader gets this one value.
  l.last = ended.what.core;
  if (ended.frees_line) {
    // After the caller's access: only then may it be taken away.
    const picoseconds keep = ended.for_writing ? machine_.all.keep : 0;
    timeline_.add(timeline_.now + keep, occasion::line_free, ended.line);
  }
  return {ended.what.requester, ended.what.how};
}

std::size_t caches::choose(const cached_line& l) {
  if (machine_.all.nearest_first == 0 || l.queue.front().passed >= machine_.all.nearest_first) {
    return 0;
  }
  std::size_t chosen = 0;
  distance best = machine_.between_cores(l.last, l.queue[0].core);
  for (std::size_t i = 1; i < l.queue.size(); ++i) {
    const distance away = machine_.between_cores(l.last, l.queue[i].core);
    if (away < best) {
      best = away;
      chosen = i;
    }
  }
  return chosen;
}

void caches::serve_next(std::uint32_t number) {
  cached_line& l = lines_[number];
  l.busy = false;
  if (l.queue.empty()) {
    return;
  }
  const std::size_t chosen = choose(l);
  if (chosen != 0) {
    ++l.queue.front().passed;
  }
  const waiting what = l.queue[chosen];
  l.queue.erase(l.queue.begin() + static_cast<std::ptrdiff_t>(chosen));
  start(number, what);
}

void caches::unwatch(std::uint32_t number, const thread& poller) {
  std::erase(lines_[number].pollers, &poller);
}

std::vector<thread*> caches::pollers(std::uint32_t number) {
  return std::exchange(lines_[number].pollers, {});
}

}  // namespace lockwright::simulate
