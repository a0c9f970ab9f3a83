#include "bench.hpp"

namespace bench {

// Prints how many loops of busy work take one microsecond here. A comparison calls this once and
// passes the figure to every process, so that a disturbed calibration cannot favour one lock.
int calibrate(int argc, char** argv) {
  const options given(argc, argv, {});
  result("calibrate", "result").field("loops_per_us", calibrate_loops_per_us()).print();
  return 0;
}

}  // namespace bench
