//! What expires, and when.

use super::draft::{Draft, Kind, Ty};
use super::rng::Rng;
use crate::facts::Facts;
use querent_compiler::model::Model;
use querent_compiler::value::Value;

/// Times to live; [`advance`] moves time on by about as much.
pub(super) const LIFETIMES: [&str; 5] = ["1ms", "2s", "1min", "1h", "3d"];

/// How much time passes between two changes, in milliseconds.
pub fn advance(rng: &mut Rng) -> i64 {
    let most = rng.one_of([0, 0, 3, 1_000, 70_000, 3_700_000, 90_000_000]);
    rng.below(most + 1) as i64
}

/// Gives some facts deadlines of their own, a few of which have come.
pub fn deadlines(rng: &mut Rng, model: &Model, facts: &mut Facts, now: i64) {
    for (root, _) in model.expiring() {
        let Some(slot) = model.deadline_slot(root) else {
            continue;
        };
        for row in facts.of_mut(model, root).values_mut() {
            if rng.percent(20) {
                row[slot] = Value::Timestamp(now + rng.between(0, 4_000_000) as i64 - 100_000);
            }
        }
    }
}

impl Draft {
    /// Makes some entities expire, where nothing refuses their delete or can be made not to.
    pub(super) fn lifetimes(&mut self, rng: &mut Rng) {
        for root in 0..self.entities.len() {
            if self.entities[root].parent.is_some() || !rng.percent(45) {
                continue;
            }
            let before = self.entities.clone();
            if !self.let_go(rng, root) {
                self.entities = before;
                continue;
            }
            let always = rng.percent(60);
            for entity in 0..self.entities.len() {
                if self.root(entity) == root {
                    let own = (entity == root && always) || rng.percent(30);
                    self.entities[entity].expires = own.then(|| rng.one_of(LIFETIMES));
                    self.entities[entity].mortal = true;
                }
            }
        }
    }

    fn root(&self, entity: usize) -> usize {
        self.ancestry(entity).last().copied().unwrap_or(entity)
    }

    /// Lets no reference refuse the delete of a root, nor of what falls with it. False where one
    /// must.
    fn let_go(&mut self, rng: &mut Rng, root: usize) -> bool {
        let mut falling = vec![root];
        let mut at = 0;
        while let Some(&gone) = falling.get(at) {
            at += 1;
            for entity in 0..self.entities.len() {
                let from = self.root(entity);
                for field in 0..self.entities[entity].fields.len() {
                    let key = self.entities[entity].fields[field].key;
                    let to = match &self.entities[entity].fields[field].kind {
                        Kind::Value { ty, .. } if self.holds(ty, gone) => return false,
                        Kind::One { target, .. } => self.root(*target),
                        Kind::Value { .. } | Kind::Many { .. } => continue,
                    };
                    let kind = &mut self.entities[entity].fields[field].kind;
                    let Kind::One {
                        optional,
                        on_delete,
                        ..
                    } = kind
                    else {
                        continue;
                    };
                    if to != gone {
                        continue;
                    }
                    if !matches!(on_delete, Some("cascade" | "clear")) {
                        let clear = *optional && !key && rng.percent(50);
                        *on_delete = Some(if clear { "clear" } else { "cascade" });
                    }
                    if *on_delete == Some("cascade") && !falling.contains(&from) {
                        falling.push(from);
                    }
                }
            }
        }
        true
    }

    fn holds(&self, ty: &Ty, root: usize) -> bool {
        match ty {
            Ty::Ref(target) => self.root(*target) == root,
            Ty::List(t) | Ty::Set(t) | Ty::Map(_, t) => self.holds(t, root),
            Ty::Record(parts) => parts.iter().any(|p| self.holds(&p.ty, root)),
            _ => false,
        }
    }
}
