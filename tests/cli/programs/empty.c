/* An empty library. */
typedef int nothing;
