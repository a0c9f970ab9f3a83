// Threads add observations to one histogram.
use prometheus::{Histogram, HistogramOpts};
use std::{env, thread};

fn main() {
    let words: Vec<u64> = env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let (threads, observations) = (words[0], words[1]);
    let histogram = Histogram::with_opts(HistogramOpts::new("name", "help")).unwrap();
    thread::scope(|scope| {
        for _ in 0..threads {
            let histogram = &histogram;
            scope.spawn(move || {
                for number in 0..observations / threads {
                    histogram.observe((number % 16) as f64);
                }
            });
        }
    });
}
