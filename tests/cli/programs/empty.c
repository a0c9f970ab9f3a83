/* A library without anything in it. */
typedef int nothing;
