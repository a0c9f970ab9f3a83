// A barrier of a mutex and a condition variable, at which threads sleep and are woken thousands of
// times a second.
#include "work.hpp"

namespace {

class barrier {
 public:
  // polls: a thread looks for the end of its round for some time before it sleeps.
  barrier(unsigned threads, bool polls) : threads_{threads}, polls_{polls} {}

  // Returns false once any thread has passed false.
  bool wait(bool continues) {
    unsigned current = 0;
    {
      const work::guard hold{mutex_};
      stopped_ = stopped_ || !continues;
      current = round_;
      if (++arrived_ == threads_) {
        arrived_ = 0;
        ended_ = stopped_;
        ++round_;
        pthread_cond_broadcast(&next_);
        return !ended_;
      }
      while (!polls_ && current == round_) pthread_cond_wait(&next_, &mutex_);
      if (!polls_) return !ended_;
    }
    for (int looks = 0; current == round_ && looks < 10'000; ++looks) {
    }
    const work::guard hold{mutex_};
    while (current == round_) pthread_cond_wait(&next_, &mutex_);
    return !ended_;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t next_ = PTHREAD_COND_INITIALIZER;
  unsigned threads_;
  bool polls_;
  unsigned arrived_ = 0;
  std::atomic<unsigned> round_{0};
  bool stopped_ = false;
  bool ended_ = false;
};

}  // namespace

int main(int count, char** words) {
  const work::changes given{count, words, {"--poll", "--threads"}};
  work::meter meter;
  const work::clock clock{std::chrono::milliseconds{400}};
  const unsigned threads = given.count("--threads", work::processors());
  barrier step{threads, given.has("--poll")};
  work::in_threads(threads, [&](unsigned) {
    std::uint64_t steps = 0;
    do {
      work::compute(3'000);
      ++steps;
    } while (step.wait(clock.runs()));
    meter.add(steps);
  });
}
