#include "uncontested.hpp"

#include "catalogue.hpp"
#include "thread_group.hpp"

namespace bench {

const description uncontested{
    .name = "uncontested",
    .measures = "threads that each take a mutex of their own, which no other thread uses",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, table 2",
    .operation = "acquisitions",
    .threads = 1,
    .parameters = {{"section-cycles", 100, "cycles", "work while the mutex is held"}},
    .run = run_workload<lone_sections<pthread_mutex_t>>,
};

}  // namespace bench
