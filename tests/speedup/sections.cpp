// Programs with a mutex `chosen`, whose sections last --section times as long as by default, and
// all else and they --length times, for --seconds; with --split 1, each thread has a mutex of its own
// instead of `chosen`, but in `pipeline`. The first word is one of these:
//   readers       threads that look something up under it, or else change it; with --together 1,
//                 under a reader-writer lock
//   saturated     threads that hold or want the mutex nearly all the time
//   unsaturated   threads that hold it for a fifth of their time
//   series        threads that take it, and then another one, whose sections are a little longer
//   pipeline      a thread that puts items into a queue under it, and one that takes them out
#include "../bottlenecks/work.hpp"

static pthread_mutex_t chosen = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

namespace {

pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;
std::uint64_t in_chosen = 0;
std::uint64_t in_other = 0;

struct task {
  unsigned threads;
  std::uint64_t inside;   // steps in a section of `chosen`
  std::uint64_t outside;  // and without a mutex
  std::uint64_t second;   // and in a section of `other`; 0 for none
  bool split;
};

void do_sections(const task& of, const work::clock& clock, work::meter& meter) {
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> in_parts{0};
  work::in_threads(of.threads, [&](unsigned number) {
    work::random random{number};
    alignas(64) pthread_mutex_t part = PTHREAD_MUTEX_INITIALIZER;
    std::uint64_t in_part = 0;
    std::uint64_t own = 0;
    for (; clock.runs(); ++own) {
      {
        const work::guard hold{of.split ? part : chosen};
        work::compute(of.inside);
        ++(of.split ? in_part : in_chosen);
      }
      if (of.second != 0) {
        const work::guard hold{other};
        work::compute(of.second);
        ++in_other;
      }
      work::compute(random.around(of.outside));
    }
    done += own;
    in_parts += in_part;
  });
  in_chosen += in_parts;
  meter.add(done);
  std::printf("%s\n",
              in_chosen == done && (of.second == 0 || in_other == done) ? "right" : "wrong");
}

// For sections that exclude each other, or readers together.
struct table {
  std::uint64_t inside;
  bool together;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  std::uint64_t changes = 0;
  std::uint64_t copy = 0;

  [[gnu::noinline]] bool look_up() {
    together ? pthread_rwlock_rdlock(&lock) : pthread_mutex_lock(&chosen);
    work::compute(inside);
    const bool is_right = changes == copy;
    release();
    return is_right;
  }

  [[gnu::noinline]] void change() {
    together ? pthread_rwlock_wrlock(&lock) : pthread_mutex_lock(&chosen);
    ++changes;
    work::compute(inside);
    ++copy;
    release();
  }

  void release() { together ? pthread_rwlock_unlock(&lock) : pthread_mutex_unlock(&chosen); }
};

void use_table(const task& of, bool together, const work::clock& clock, work::meter& meter) {
  table shared{of.inside, together};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> changes{0};
  work::in_threads(of.threads, [&](unsigned number) {
    work::random random{number};
    std::uint64_t own = 0;
    for (; clock.runs(); ++own) {
      if (random.next() % 10 != 0) {
        wrong += shared.look_up() ? 0 : 1;
      } else {
        shared.change();
        ++changes;
      }
      work::compute(random.around(of.outside));
    }
    meter.add(own);
  });
  std::printf("%s\n", wrong == 0 && shared.changes == changes ? "right" : "wrong");
}

void pipe_items(std::uint64_t inside, double length, const work::clock& clock, work::meter& meter) {
  const auto outside = [length](double of) { return static_cast<std::uint64_t>(of * length); };
  constexpr std::uint64_t room = 8;
  std::uint64_t put = 0;
  std::uint64_t taken = 0;
  bool is_over = false;
  std::thread consumer([&] {
    for (;;) {
      {
        const work::guard hold{chosen};
        while (put == taken && !is_over) pthread_cond_wait(&filled, &chosen);
        if (put == taken) return;
        work::compute(inside);
        ++taken;
        pthread_cond_signal(&emptied);
      }
      work::compute(outside(50'000));
    }
  });
  while (clock.runs()) {
    work::compute(outside(40'000));
    const work::guard hold{chosen};
    while (put - taken == room) pthread_cond_wait(&emptied, &chosen);
    work::compute(inside);
    ++put;
    pthread_cond_signal(&filled);
  }
  {
    const work::guard hold{chosen};
    is_over = true;
    pthread_cond_signal(&filled);
  }
  consumer.join();
  meter.add(taken);
  std::printf("%s\n", put == taken ? "right" : "wrong");
}

}  // namespace

int main(int count, char** words) {
  const work::changes given{
      count - 1,
      words + 1,
      {"--section", "--length", "--seconds", "--threads", "--split", "--together"}};
  const double section = given.value("--section", 1);
  const unsigned threads = given.count("--threads", 2);
  const double length = given.value("--length", 1);
  const bool split = given.value("--split", 0) != 0;
  const auto inside = [=](double of) { return static_cast<std::uint64_t>(of * length * section); };
  const auto steps = [length](double of) { return static_cast<std::uint64_t>(of * length); };
  const work::clock clock{
      std::chrono::milliseconds{static_cast<std::int64_t>(1'000 * given.value("--seconds", 1))}};
  work::meter meter;
  const char* name = count > 1 ? words[1] : "";
  if (std::strcmp(name, "saturated") == 0) {
    do_sections({threads, inside(20'000), steps(2'000), 0, split}, clock, meter);
  } else if (std::strcmp(name, "unsaturated") == 0) {
    do_sections({threads, inside(10'000), steps(40'000), 0, split}, clock, meter);
  } else if (std::strcmp(name, "series") == 0) {
    do_sections({threads, inside(20'000), steps(8'000), steps(25'000), split}, clock, meter);
  } else if (std::strcmp(name, "readers") == 0) {
    const bool together = given.value("--together", 0) != 0;
    use_table({threads, inside(20'000), steps(5'000), 0, false}, together, clock, meter);
  } else {
    pipe_items(inside(20'000), length, clock, meter);
  }
}
