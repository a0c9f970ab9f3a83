// Threads intern words, of which most are known already, in the one table of the library.
use std::{env, thread};
use string_cache::DefaultAtom;

fn main() {
    let words: Vec<usize> = env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let (threads, atoms) = (words[0], words[1]);
    let texts: Vec<String> = (0..4096).map(|number| format!("an identifier {number}")).collect();
    let _kept: Vec<DefaultAtom> = texts.iter().map(|text| DefaultAtom::from(text.as_str())).collect();
    thread::scope(|scope| {
        for thread in 0..threads {
            let texts = &texts;
            scope.spawn(move || {
                for number in 0..atoms / threads {
                    let text = &texts[(number * 31 + thread * 997) % texts.len()];
                    let atom = DefaultAtom::from(text.as_str());
                    assert_eq!(atom.len(), text.len());
                }
            });
        }
    });
}
