//! Paths through a draft, and what can be said where they end.

use super::draft::{Draft, Kind, Part, Ty};
use super::rng::Rng;

/// Where a path stands.
#[derive(Clone, Debug)]
pub(super) enum At {
    /// At an instance.
    Entity(usize),
    /// At an element of a collection.
    Element(Ty, Of),
    /// At an instance reached by a reference inside an element: nothing to-many follows.
    Inner(usize),
    /// Inside a record.
    Record(Vec<Part>, Whose),
}

/// What a record is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Instance,
    Element,
    /// An instance reached by a reference inside an element: nothing to-many follows here either.
    Inner,
}

/// What kind of collection an element is of.
#[derive(Clone, Debug)]
pub(super) enum Of {
    List,
    Set,
    /// With the type of its keys.
    Map(Ty),
}

/// Where the elements of a collection stand; none if the type is not one.
fn elements(ty: &Ty) -> Option<At> {
    Some(match ty {
        Ty::List(t) => At::Element((**t).clone(), Of::List),
        Ty::Set(t) => At::Element((**t).clone(), Of::Set),
        Ty::Map(k, v) => At::Element((**v).clone(), Of::Map((**k).clone())),
        _ => return None,
    })
}

/// What a name leads to.
enum Step {
    Leaf(Ty),
    One(At),
    Many(At),
}

impl Draft {
    fn steps(&self, at: &At) -> Vec<(String, Step)> {
        match at {
            At::Entity(entity) => self.entity_steps(*entity, true),
            At::Inner(entity) => self.entity_steps(*entity, false),
            At::Element(ty, of) => element_steps(ty, of),
            At::Record(parts, whose) => part_steps(parts, *whose),
        }
    }

    fn entity_steps(&self, entity: usize, many: bool) -> Vec<(String, Step)> {
        let at = if many { At::Entity } else { At::Inner };
        let whose = if many { Whose::Instance } else { Whose::Inner };
        let mut steps = Vec::new();
        for field in self.fields(entity) {
            match &field.kind {
                Kind::Value { ty, .. } => match ty {
                    Ty::Record(parts) => {
                        steps.push((
                            field.name.clone(),
                            Step::One(At::Record(parts.clone(), whose)),
                        ));
                    }
                    _ => match elements(ty) {
                        Some(at) if many => steps.push((field.name.clone(), Step::Many(at))),
                        Some(_) => {}
                        None => steps.push((field.name.clone(), Step::Leaf(ty.clone()))),
                    },
                },
                Kind::One { target, parts, .. } => {
                    steps.push((field.name.clone(), Step::One(at(*target))));
                    for part in parts {
                        steps.push((
                            format!("{}@{}", field.name, part.name),
                            Step::Leaf(part.ty.clone()),
                        ));
                    }
                }
                Kind::Many { target, .. } if many => {
                    steps.push((field.name.clone(), Step::Many(At::Entity(*target))));
                }
                Kind::Many { .. } => {}
            }
        }
        let chain = self.ancestry(entity);
        for (source, other) in self.entities.iter().enumerate() {
            for field in &other.fields {
                match &field.kind {
                    Kind::One {
                        target,
                        back: Some(back),
                        ..
                    }
                    | Kind::Many {
                        target,
                        back: Some(back),
                        ..
                    } if many && chain.contains(target) => {
                        steps.push((back.clone(), Step::Many(At::Entity(source))));
                    }
                    _ => {}
                }
            }
        }
        steps
    }

    /// A path of to-one steps to a scalar that is wanted.
    pub(super) fn scalar(
        &self,
        rng: &mut Rng,
        at: &At,
        wanted: &dyn Fn(&Ty) -> bool,
    ) -> Option<(String, Ty)> {
        for _ in 0..6 {
            if let Some(found) = self.scalar_once(rng, at, wanted, 3) {
                return Some(found);
            }
        }
        None
    }

    fn scalar_once(
        &self,
        rng: &mut Rng,
        at: &At,
        wanted: &dyn Fn(&Ty) -> bool,
        depth: usize,
    ) -> Option<(String, Ty)> {
        let mut steps = self.steps(at);
        steps.retain(|(_, step)| match step {
            Step::Leaf(ty) => wanted(ty),
            Step::One(_) => depth > 0,
            Step::Many(_) => false,
        });
        // Leaves are likelier than steps, or paths would all be long.
        let leaves: Vec<usize> = (0..steps.len())
            .filter(|&i| matches!(steps[i].1, Step::Leaf(_)))
            .collect();
        let chosen = match rng.pick(&leaves) {
            Some(&leaf) if rng.percent(60) => leaf,
            _ if steps.is_empty() => return None,
            _ => rng.below(steps.len()),
        };
        let (name, step) = steps.swap_remove(chosen);
        match step {
            Step::Leaf(ty) => Some((name, ty)),
            Step::One(next) => {
                let (rest, ty) = self.scalar_once(rng, &next, wanted, depth - 1)?;
                Some((format!("{name}.{rest}"), ty))
            }
            Step::Many(_) => None,
        }
    }

    /// A path with one to-many step or two, and where it ends.
    pub(super) fn many(&self, rng: &mut Rng, at: &At) -> Option<(String, At)> {
        for _ in 0..6 {
            if let Some(found) = self.many_once(rng, at, 2) {
                return Some(found);
            }
        }
        None
    }

    fn many_once(&self, rng: &mut Rng, at: &At, depth: usize) -> Option<(String, At)> {
        let mut steps = self.steps(at);
        steps.retain(|(_, step)| match step {
            Step::Leaf(_) | Step::One(At::Inner(_)) => false,
            Step::One(_) => depth > 0,
            Step::Many(_) => true,
        });
        if steps.is_empty() {
            return None;
        }
        let chosen = rng.below(steps.len());
        let (name, step) = steps.swap_remove(chosen);
        match step {
            Step::Leaf(_) => None,
            Step::One(next) => {
                let (rest, end) = self.many_once(rng, &next, depth - 1)?;
                Some((format!("{name}.{rest}"), end))
            }
            Step::Many(next) => {
                if depth > 0
                    && rng.percent(25)
                    && let Some((rest, end)) = self.many_once(rng, &next, depth - 1)
                {
                    return Some((format!("{name}.{rest}"), end));
                }
                Some((name, next))
            }
        }
    }

    /// A path with to-many steps that ends in a scalar that is wanted.
    pub(super) fn many_scalar(
        &self,
        rng: &mut Rng,
        at: &At,
        wanted: &dyn Fn(&Ty) -> bool,
    ) -> Option<(String, Ty)> {
        for _ in 0..6 {
            if rng.percent(15)
                && let At::Entity(entity) = at
                && let Some(found) = self.link_attribute(rng, *entity, wanted)
            {
                return Some(found);
            }
            let (path, end) = self.many(rng, at)?;
            if let Some(found) = self.end_scalar(rng, &path, &end, wanted) {
                return Some(found);
            }
        }
        None
    }

    /// A scalar that is wanted of where a path to many leads: an element itself, or what it has.
    pub(super) fn end_scalar(
        &self,
        rng: &mut Rng,
        path: &str,
        end: &At,
        wanted: &dyn Fn(&Ty) -> bool,
    ) -> Option<(String, Ty)> {
        match end {
            At::Element(ty, _) if ty.is_scalar() && rng.percent(80) => {
                wanted(ty).then(|| (path.to_owned(), ty.clone()))
            }
            _ => {
                let (rest, ty) = self.scalar(rng, end, wanted)?;
                Some((format!("{path}.{rest}"), ty))
            }
        }
    }

    /// The keys by which elements of an instance's lists refer: the list, where its elements stand,
    /// and the path to a scalar of such a key.
    pub(super) fn referred_keys(&self, at: &At) -> Vec<(String, At, String)> {
        let At::Entity(entity) = at else {
            return vec![];
        };
        let mut out = Vec::new();
        for field in self.fields(*entity) {
            let Kind::Value {
                ty: Ty::List(element),
                ..
            } = &field.kind
            else {
                continue;
            };
            let Ty::Record(parts) = &**element else {
                continue;
            };
            for part in parts {
                let Ty::Ref(target) = part.ty else { continue };
                for key in self.key_scalars(target) {
                    let end = At::Element((**element).clone(), Of::List);
                    let key = format!("{}.{}.{key}", field.name, part.name);
                    out.push((field.name.clone(), end, key));
                }
            }
        }
        out
    }

    pub(super) fn key_scalars(&self, entity: usize) -> Vec<String> {
        let key = self.fields(entity).into_iter().filter(|field| field.key);
        let scalars = key.flat_map(|field| match &field.kind {
            Kind::One { target, .. } => {
                let scalars = self.key_scalars(*target).into_iter();
                scalars.map(|s| format!("{}.{s}", field.name)).collect()
            }
            Kind::Value { ty, .. } if ty.is_ordered() => vec![field.name.clone()],
            _ => vec![],
        });
        scalars.collect()
    }

    /// An attribute of a many-to-many relationship, from either side.
    fn link_attribute(
        &self,
        rng: &mut Rng,
        entity: usize,
        wanted: &dyn Fn(&Ty) -> bool,
    ) -> Option<(String, Ty)> {
        let chain = self.ancestry(entity);
        let mut found = Vec::new();
        for (owner, other) in self.entities.iter().enumerate() {
            for field in &other.fields {
                let Kind::Many {
                    target,
                    back,
                    parts,
                } = &field.kind
                else {
                    continue;
                };
                let forth = chain.contains(&owner).then_some(&field.name);
                let back = back.as_ref().filter(|_| chain.contains(target));
                for side in forth.into_iter().chain(back) {
                    let parts = parts.iter().filter(|p| wanted(&p.ty));
                    found.extend(parts.map(|p| (format!("{side}@{}", p.name), p.ty.clone())));
                }
            }
        }
        rng.pick(&found).cloned()
    }

    /// A condition on the concrete type, where there are several.
    pub(super) fn tag(&self, rng: &mut Rng, entity: usize) -> Option<String> {
        let root = *self.ancestry(entity).last()?;
        let members: Vec<usize> = (0..self.entities.len())
            .filter(|&e| self.ancestry(e).last() == Some(&root))
            .collect();
        let member = *rng.pick(&members).filter(|_| members.len() > 1)?;
        Some(format!(
            "type {} {}",
            rng.one_of(["=", "!="]),
            self.entities[member].name
        ))
    }

    /// A to-one path to an instance, of at least one step.
    pub(super) fn one(&self, rng: &mut Rng, at: &At) -> Option<(String, At)> {
        let mut steps = self.steps(at);
        steps.retain(|(_, step)| matches!(step, Step::One(At::Entity(_) | At::Inner(_))));
        if steps.is_empty() {
            return None;
        }
        let chosen = rng.below(steps.len());
        let (name, step) = steps.swap_remove(chosen);
        let Step::One(next) = step else { return None };
        if rng.percent(20)
            && let Some((rest, end)) = self.one(rng, &next)
        {
            return Some((format!("{name}.{rest}"), end));
        }
        Some((name, next))
    }

    /// An attribute of an entity that is a collection.
    pub(super) fn collection(&self, rng: &mut Rng, entity: usize) -> Option<(String, Ty)> {
        let fields: Vec<(String, Ty)> = self
            .fields(entity)
            .into_iter()
            .filter_map(|f| match &f.kind {
                Kind::Value { ty, .. } if ty.element().is_some() => {
                    Some((f.name.clone(), ty.clone()))
                }
                _ => None,
            })
            .collect();
        rng.pick(&fields).cloned()
    }
}

fn element_steps(ty: &Ty, of: &Of) -> Vec<(String, Step)> {
    let mut steps = match ty {
        Ty::Record(parts) => part_steps(parts, Whose::Element),
        _ => Vec::new(),
    };
    match of {
        Of::List => steps.push(("position".to_owned(), Step::Leaf(Ty::BigInt))),
        Of::Map(key) => {
            steps.push(("key".to_owned(), Step::Leaf(key.clone())));
            if ty.is_scalar() {
                steps.push(("value".to_owned(), Step::Leaf(ty.clone())));
            }
        }
        Of::Set => {}
    }
    steps
}

fn part_steps(parts: &[Part], whose: Whose) -> Vec<(String, Step)> {
    let mut steps = Vec::new();
    for part in parts {
        match &part.ty {
            Ty::Record(inner) => {
                steps.push((
                    part.name.clone(),
                    Step::One(At::Record(inner.clone(), whose)),
                ));
            }
            Ty::Ref(target) if whose == Whose::Element => {
                steps.push((part.name.clone(), Step::One(At::Inner(*target))));
            }
            Ty::Ref(_) => {}
            ty => match elements(ty) {
                Some(_) if whose == Whose::Inner => {}
                Some(at) => steps.push((part.name.clone(), Step::Many(at))),
                None => steps.push((part.name.clone(), Step::Leaf(ty.clone()))),
            },
        }
    }
    steps
}
