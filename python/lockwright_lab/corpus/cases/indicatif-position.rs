// Threads advance one progress bar that is not shown.
use std::{env, thread};

fn main() {
    let words: Vec<u64> = env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let (threads, steps) = (words[0], words[1]);
    let bar = indicatif::ProgressBar::hidden();
    bar.set_length(steps);
    thread::scope(|scope| {
        for _ in 0..threads {
            let bar = &bar;
            scope.spawn(move || (0..steps / threads).for_each(|_| bar.inc(1)));
        }
    });
    assert_eq!(bar.position(), steps / threads * threads);
}
