#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"
#include "report.hpp"

namespace torture {
namespace {

constexpr std::uint64_t max_members = 8;
constexpr std::size_t pages = 8;

// The memory of destroyed mutexes, for the crash handler. A phase has few arenas.
constexpr std::size_t max_arenas = 16;
std::atomic<std::pair<const char*, const char*>*> arenas[max_arenas];

// A mutex for a known number of users, on a page that becomes inaccessible when the last user has
// destroyed the mutex. The next mutex is on the next page.
class arena {
 public:
  struct shared {
    pthread_mutex_t mutex;
    std::uint64_t users;  // still to come
  };

  arena() : size_{static_cast<std::size_t>(sysconf(_SC_PAGESIZE))} {
    void* const memory =
        mmap(nullptr, pages * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      fail("memory", "mmap failed");
    }
    memory_ = static_cast<char*>(memory);
    range_ = {memory_, memory_ + pages * size_};
    for (auto& each : arenas) {
      std::pair<const char*, const char*>* none = nullptr;
      if (each.compare_exchange_strong(none, &range_)) {
        break;
      }
    }
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() {
    for (auto& each : arenas) {
      std::pair<const char*, const char*>* own = &range_;
      each.compare_exchange_strong(own, nullptr);
    }
    munmap(memory_, pages * size_);
  }

  shared& of(std::uint64_t round) {
    return *reinterpret_cast<shared*>(memory_ + (round % pages) * size_);
  }

  void make(std::uint64_t round, int type, std::uint64_t users) {
    char* const page = memory_ + (round % pages) * size_;
    if (mprotect(page, size_, PROT_READ | PROT_WRITE) != 0) {
      fail("memory", "mprotect failed");
    }
    auto* const made = ::new (static_cast<void*>(page)) shared;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    must(pthread_mutex_init(&made->mutex, &attributes), "pthread_mutex_init");
    pthread_mutexattr_destroy(&attributes);
    made->users = users;
  }

  void retire(std::uint64_t round) {
    shared& old = of(round);
    must(pthread_mutex_destroy(&old.mutex), "pthread_mutex_destroy by the last user");
    std::memset(static_cast<void*>(&old), 0xA5, sizeof old);
    mprotect(memory_ + (round % pages) * size_, size_, PROT_NONE);
  }

 private:
  std::size_t size_;
  char* memory_;
  std::pair<const char*, const char*> range_;
};

struct team {
  arena mutexes;
  std::uint64_t members = 0;
  std::atomic<std::uint32_t> round{0};
  std::atomic<bool> ended{false};
};

void use(worker& me, team& of) {
  for (std::uint32_t round = 0; !of.ended.load(); ++round) {
    arena::shared& it = of.mutexes.of(round);
    me.does(act::locks);
    if (me.draw.one_in(3)) {
      const int result = pthread_mutex_trylock(&it.mutex);
      if (result == EBUSY) {
        must(pthread_mutex_lock(&it.mutex), "pthread_mutex_lock");
      } else {
        must(result, "pthread_mutex_trylock");
      }
    } else {
      must(pthread_mutex_lock(&it.mutex), "pthread_mutex_lock");
    }
    me.does(act::between);
    const bool last = --it.users == 0;
    me.run.section(me);
    must(pthread_mutex_unlock(&it.mutex), "pthread_mutex_unlock");
    if (last) {
      of.mutexes.retire(round);
      if (me.run.over()) {
        of.ended.store(true);
      } else {
        of.mutexes.make(round + 1, me.run.plan.type, of.members);
      }
      of.round.store(round + 1);
      futex_wake(of.round);
    }
    while (of.round.load() == round) {
      me.does(act::halted);
      futex_wait(of.round, round);
    }
    me.does(act::between);
  }
}

}  // namespace

bool is_retired(const void* address) {
  const auto* const at = static_cast<const char*>(address);
  return std::any_of(std::begin(arenas), std::end(arenas), [at](const auto& each) {
    const auto* const range = each.load();
    return range != nullptr && at >= range->first && at < range->second;
  });
}

void reuse(phase_run& on) {
  for (std::uint64_t left = on.plan.threads, teams = 0; left >= 2 && teams < max_arenas; ++teams) {
    const auto of = std::make_shared<team>();
    of->members = std::min(left, max_members);
    left -= of->members;
    of->mutexes.make(0, on.plan.type, of->members);
    for (std::uint64_t i = 0; i < of->members; ++i) {
      on.add_worker("user", [of](worker& me) { use(me, *of); });
    }
  }
}

}  // namespace torture
