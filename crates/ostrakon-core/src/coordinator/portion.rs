//! `Portion`: as many commands as go into one append.
//!
//! No storage takes everything at once: etcd, which takes the least, takes a mebibyte and 124 leases that begin or end. What does not fit
//! waits for the next append, in order; a command about many shards is cut in two, which changes nothing because it is judged shard by
//! shard. Sizes are rough and err on the large side.

use crate::{Command, DeathProof, Registration};

/// So many commands at most, each of which may begin or end a lease.
const MOST_COMMANDS: usize = 100;
/// So many bytes at most.
pub(super) const MOST_BYTES: usize = 900 << 10;
/// What a shard takes in a command, if the name of its group and all numbers are as long as they can be.
const SHARD: usize = 228;
/// What anything takes besides its texts.
const FRAME: usize = 256;
/// What a character takes at most when it has to be escaped.
const ESCAPED: usize = 6;

/// As much as goes into one append.
pub(super) struct Portion {
    pub(super) commands: Vec<Command>,
    /// The last of them is only a part; the rest of it comes next.
    pub(super) is_cut: bool,
}

impl Portion {
    /// Takes what fits from the front: something in any case, if there is anything.
    pub(super) fn take(waiting: &mut Vec<Command>, most: usize) -> Self {
        let mut portion = Self {
            commands: Vec::new(),
            is_cut: false,
        };
        let mut room = most;
        let mut left = std::mem::take(waiting).into_iter();
        while portion.commands.len() < MOST_COMMANDS
            && let Some(command) = left.next()
        {
            let size = size(&command);
            if size <= room {
                room -= size;
                portion.commands.push(command);
            } else {
                waiting.extend(portion.take_part(command, room));
                break;
            }
        }
        waiting.extend(left);
        portion
    }

    /// Takes of a command as much as fits; returns the rest.
    fn take_part(&mut self, mut command: Command, room: usize) -> Option<Command> {
        let fitting = room.saturating_sub(FRAME) / SHARD;
        let must_take = self.commands.is_empty();
        if !must_take && (fitting == 0 || shards(&command).is_none()) {
            return Some(command);
        }
        let rest = cut(&mut command, fitting.max(1));
        self.is_cut = rest.is_some();
        self.commands.push(command);
        rest
    }
}

/// Whether an append of these cannot be made smaller.
pub(super) fn is_least(commands: &[Command]) -> bool {
    match commands {
        [] => true,
        [only] => shards(only).is_none_or(|shards| shards <= 1),
        [_, _, ..] => false,
    }
}

/// Roughly how many bytes a command takes in the log.
pub(super) fn size(command: &Command) -> usize {
    let rest = match command {
        Command::Register(registration) => registration_size(registration),
        Command::ConfirmDead {
            proof: DeathProof::Platform(word) | DeathProof::Operator(word),
            ..
        } => word.len() * ESCAPED,
        Command::CreateGroup(group) => group.hash.len() * ESCAPED,
        Command::BeginMove(_) | Command::Released(_) | Command::Grant(_) => {
            shards(command).map_or(0, |shards| shards * SHARD)
        }
        Command::Takeover { .. }
        | Command::Leave { .. }
        | Command::Expire { .. }
        | Command::ConfirmDead {
            proof: DeathProof::Left | DeathProof::ProcessGone,
            ..
        }
        | Command::SetPolicy(_) => 0,
    };
    FRAME + rest
}

/// Roughly how many bytes a registration takes in the log.
pub(super) fn registration_size(registration: &Registration) -> usize {
    let place = &registration.place;
    let place: usize = place.iter().map(|(k, v)| FRAME + k.len() + v.len()).sum();
    let groups = &registration.groups;
    let groups: usize = groups.iter().map(|group| FRAME + group.hash.len()).sum();
    let roles = registration.roles.len() * FRAME;
    let version = registration.version.to_string().len();
    (registration.address.len() + version + place + groups) * ESCAPED + roles
}

/// How many shards a command is about that can be cut.
fn shards(command: &Command) -> Option<usize> {
    match command {
        Command::BeginMove(shards) => Some(shards.len()),
        Command::Released(shards) => Some(shards.len()),
        Command::Grant(shards) => Some(shards.len()),
        Command::Takeover { .. }
        | Command::Register(_)
        | Command::Leave { .. }
        | Command::Expire { .. }
        | Command::ConfirmDead { .. }
        | Command::SetPolicy(_)
        | Command::CreateGroup(_) => None,
    }
}

/// Leaves so many shards in a command; returns one with the others.
fn cut(command: &mut Command, shards: usize) -> Option<Command> {
    match command {
        Command::BeginMove(moves) => behind(moves, shards).map(Command::BeginMove),
        Command::Released(released) => behind(released, shards).map(Command::Released),
        Command::Grant(grants) => behind(grants, shards).map(Command::Grant),
        Command::Takeover { .. }
        | Command::Register(_)
        | Command::Leave { .. }
        | Command::Expire { .. }
        | Command::ConfirmDead { .. }
        | Command::SetPolicy(_)
        | Command::CreateGroup(_) => None,
    }
}

fn behind<T>(shards: &mut Vec<T>, place: usize) -> Option<Vec<T>> {
    (shards.len() > place).then(|| shards.split_off(place))
}

#[cfg(test)]
mod tests;
