// Threads search short texts, with one regular expression, or each with a clone, which has a pool of
// scratch space of its own.
use std::{env, thread};

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let (threads, searches): (usize, usize) = (words[0].parse().unwrap(), words[1].parse().unwrap());
    let first = regex::Regex::new(r"\w+\s+(?:Holmes|Watson)$").unwrap();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (first, words) = (&first, &words);
            scope.spawn(move || {
                let own = (words[2] == "cloned").then(|| first.clone());
                let used = own.as_ref().unwrap_or(first);
                let found = (0..searches / threads).filter(|_| used.is_match("the good Watson"));
                assert_eq!(found.count(), searches / threads);
            });
        }
    });
}
