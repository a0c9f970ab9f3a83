import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

/** Threads that lock, wait, hand over and give up; the sums say whether anything was lost. */
class Threads {
    public static void main(String[] words) throws Exception {
        int threads = Integer.parseInt(words[0]);
        int each = 2_000;
        long[] counted = new long[2];
        ReentrantLock lock = new ReentrantLock();
        Object monitor = new Object();
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(4);
        LongAccumulator taken = new LongAccumulator(Long::sum, 0);
        CyclicBarrier start = new CyclicBarrier(2 * threads);
        ExecutorService pool = Executors.newFixedThreadPool(2 * threads);
        for (int i = 0; i < threads; ++i) {
            pool.submit(() -> {
                start.await();
                for (int n = 1; n <= each; ++n) {
                    queue.put(n);
                    lock.lock();
                    try {
                        ++counted[0];
                    } finally {
                        lock.unlock();
                    }
                }
                return null;
            });
            pool.submit(() -> {
                start.await();
                for (int n = 1; n <= each; ++n) {
                    taken.accumulate(queue.take());
                    synchronized (monitor) {
                        ++counted[1];
                        monitor.notifyAll();
                    }
                }
                return null;
            });
        }
        long all = (long) threads * each;
        synchronized (monitor) {
            while (counted[1] < all) {
                monitor.wait(1);
            }
        }
        pool.shutdown();
        if (!pool.awaitTermination(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("threads do not end");
        }
        System.gc();
        if (counted[0] != all || taken.get() != all * (each + 1) / 2) {
            throw new IllegalStateException("lost: " + counted[0] + " " + taken.get());
        }
        System.out.println("ok " + all);
    }
}
