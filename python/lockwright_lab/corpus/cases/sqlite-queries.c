/* sqlite-queries THREADS QUERIES MEMSTATUS SHARED: each thread reads rows of a table in a connection of
   its own. MEMSTATUS: whether SQLite counts its memory; SHARED: whether connections share a cache. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int shared, queries;
static const char* const FILE_NAME = "file:data.db";

static sqlite3* opened(void) {
  sqlite3* base;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  flags |= shared ? SQLITE_OPEN_SHAREDCACHE : SQLITE_OPEN_PRIVATECACHE;
  if (sqlite3_open_v2(FILE_NAME, &base, flags, 0) != SQLITE_OK) abort();
  return base;
}

static void* work(void* number) {
  sqlite3* base = opened();
  unsigned random = (unsigned)(long)number + 1;
  for (int i = 0; i < queries; i++) {
    char text[128];
    random = random * 1103515245 + 12345;
    snprintf(text, sizeof text, "SELECT v FROM t WHERE k = %u", random >> 8 & 0xfff);
    sqlite3_stmt* row;
    if (sqlite3_prepare_v2(base, text, -1, &row, 0) != SQLITE_OK) abort();
    int found;
    while ((found = sqlite3_step(row)) == SQLITE_ROW) (void)sqlite3_column_text(row, 0);
    if (found != SQLITE_DONE) abort();
    sqlite3_finalize(row);
  }
  sqlite3_close(base);
  return 0;
}

int main(int count, char** words) {
  pthread_t threads[64];
  int all = atoi(words[1]);
  queries = atoi(words[2]) / all;
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, atoi(words[3]));
  shared = atoi(words[4]);
  sqlite3* base = opened();
  const char* table =
      "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT); WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL"
      " SELECT i + 1 FROM n WHERE i < 4095) INSERT INTO t SELECT i, 'the value ' || i FROM n";
  if (sqlite3_exec(base, table, 0, 0, 0) != SQLITE_OK) abort();
  for (long i = 0; i < all; i++) pthread_create(&threads[i], 0, work, (void*)i);
  for (int i = 0; i < all; i++) pthread_join(threads[i], 0);
  return sqlite3_close(base);
}
