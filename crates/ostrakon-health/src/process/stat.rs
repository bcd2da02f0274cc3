//! `Stat`: what the kernel says of a process in `/proc/ID/stat`.

/// The parts of it that tell whether the process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    state: char,
    threads: u64,
    /// When it began, in ticks since the boot.
    pub(super) began: u64,
}

impl Stat {
    /// The 3rd, 20th and 22nd field. The second, the program's name, may contain blanks and brackets.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (_, after_name) = text.rsplit_once(')')?;
        let fields: Vec<_> = after_name.split_whitespace().collect();
        Some(Self {
            state: fields.first()?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
            began: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether nothing of it runs any more: it only waits for its parent to notice. The state is that of the first thread, and others
    /// may outlive it, so that one must be the last.
    pub(super) fn has_ended(self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x') && self.threads <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(state: char, threads: u64) -> String {
        format!("7 (a) (b c) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 {threads} 18 4711 20\n")
    }

    #[test]
    fn the_name_of_the_program_does_not_confuse_it() {
        let read = Stat::read(&stat('S', 3));
        let expected = Stat {
            state: 'S',
            threads: 3,
            began: 4711,
        };
        assert_eq!(read, Some(expected));
    }

    #[test]
    fn half_a_line_is_nothing() {
        for text in [
            "",
            "7",
            "7 (a)",
            "7 (a) S 1 2 3",
            "7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 x 18 4711",
        ] {
            assert_eq!(Stat::read(text), None, "{text}");
        }
    }

    #[test]
    fn only_who_waits_to_be_noticed_has_ended() {
        let has_ended = |state, threads| Stat::read(&stat(state, threads)).unwrap().has_ended();
        assert!(has_ended('Z', 1));
        assert!(has_ended('X', 0));
        assert!(
            !has_ended('Z', 2),
            "a thread that outlives the first still acts"
        );
        for state in ['R', 'S', 'D', 'T', 't', 'I'] {
            assert!(!has_ended(state, 1), "{state}");
        }
    }
}
