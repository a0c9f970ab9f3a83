// Reader-writer locks. LOCKWRIGHT_TEST_RWLOCK gives what is promised in addition to POSIX, or not
// promised: `exclusive` that readers exclude each other, `phase-fair` that readers and writers
// alternate.
#include "../../support/check.hpp"
#include "parts.hpp"

using namespace rwlocks;

int main(int argc, char** argv) {
  return check::run(argc, argv,
                    {{"exclusion", exclusion},
                     {"exclusion on one cpu", exclusion_on_one_cpu},
                     {"readers together", readers_together},
                     {"recursive reads", recursive_reads},
                     {"recursive reads of many", recursive_reads_of_many},
                     {"tries", tries},
                     {"the writer again", the_writer_again},
                     {"deadlines", deadlines},
                     {"a writer gives up", a_writer_gives_up},
                     {"giving up and getting in", giving_up_and_getting_in},
                     {"writers first", writers_first},
                     {"default kind prefers no writer", default_kind_prefers_no_writer},
                     {"phases", phases},
                     {"nobody starves", no_starvation},
                     {"used again", used_again},
                     {"freed by the last user", freed_by_the_last_user},
                     {"static initialisers", static_initialisers},
                     {"forks", forks},
                     {"between processes", between_processes},
                     {"of C++", of_cpp},
                     {"second names", second_names}});
}
