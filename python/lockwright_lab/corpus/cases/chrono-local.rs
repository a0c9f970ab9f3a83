// Threads convert times to the local time zone.
use chrono::{Datelike, Local, TimeZone, Utc};
use std::{env, thread};

fn main() {
    let words: Vec<i64> = env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let (threads, times) = (words[0], words[1]);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || {
                for second in 0..times / threads {
                    let time = Utc.timestamp(1_600_000_000 + second, 0).with_timezone(&Local);
                    assert_eq!(time.year(), 2020);
                }
            });
        }
    });
}
