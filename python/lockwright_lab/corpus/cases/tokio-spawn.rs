// Threads of a runtime start short tasks and wait for them.
use std::env;

fn main() {
    let words: Vec<usize> = env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let (threads, tasks) = (words[0], words[1]);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(threads).build().unwrap();
    runtime.block_on(async move {
        let spawner = move || async move {
            for _ in 0..tasks / threads / 64 {
                let all: Vec<_> = (0..64).map(|_| tokio::spawn(async {})).collect();
                for each in all {
                    each.await.unwrap();
                }
            }
        };
        let spawners: Vec<_> = (0..threads).map(|_| tokio::spawn(spawner())).collect();
        for each in spawners {
            each.await.unwrap();
        }
    });
}
