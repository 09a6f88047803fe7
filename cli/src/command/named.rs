//! What a name of `explain` means in a design.

use anyhow::{Result, bail};
use querent_compiler::design::Design;
use querent_compiler::diagnostic::nearest;

/// A question, a change and a structure may have one name: then it means all of them, unless it
/// says which, as in `structure:orders`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Named {
    /// Its position among the plans.
    pub(crate) question: Option<usize>,
    /// Its position among the write plans.
    pub(crate) change: Option<usize>,
    /// Its position among the structures.
    pub(crate) structure: Option<usize>,
}

impl Named {
    pub(crate) fn find(design: &Design, wanted: &str) -> Named {
        let said = said(wanted);
        let [question, change, structure] = KINDS.map(|kind| match said {
            Some((of, name)) => (of == kind).then_some(name),
            None => Some(wanted),
        });
        let (mut plans, mut writes) = (design.plans.iter(), design.writes.iter());
        let mut structures = design.structures.iter();
        Named {
            question: question.and_then(|name| plans.position(|p| p.name == name)),
            change: change.and_then(|name| writes.position(|w| w.name == name)),
            structure: structure.and_then(|name| structures.position(|s| s.name == name)),
        }
    }

    pub(crate) fn is_nothing(self) -> bool {
        self.question.or(self.change).or(self.structure).is_none()
    }
}

const KINDS: [&str; 3] = ["question", "change", "structure"];

/// The kind that a name says, and the name itself.
fn said(wanted: &str) -> Option<(&str, &str)> {
    wanted
        .split_once(':')
        .filter(|(kind, _)| KINDS.contains(kind))
}

/// Fails with what has the name, where it is of another kind than was said, the name that may have
/// been meant, or all there are, each once.
pub(crate) fn unknown<T>(design: &Design, wanted: &str) -> Result<T> {
    if let Some((kind, name)) = said(wanted) {
        let named = Named::find(design, name);
        let found = [named.question, named.change, named.structure];
        let found = KINDS.into_iter().zip(found).find(|(_, at)| at.is_some());
        if let Some((is, _)) = found {
            bail!("there is no {kind} `{name}`: it is a {is}; say `{is}:{name}`");
        }
    }
    let wanted = said(wanted).map_or(wanted, |(_, name)| name);
    let plans = design.plans.iter().map(|p| p.name.as_str());
    let writes = design.writes.iter().map(|w| w.name.as_str());
    let structures = design.structures.iter().map(|s| s.name.as_str());
    let mut names: Vec<&str> = Vec::new();
    for name in plans.chain(writes).chain(structures) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match nearest(wanted, names.iter().copied()) {
        Some(near) => {
            bail!("there is no question, change or structure `{wanted}`; did you mean `{near}`?")
        }
        None => bail!(
            "there is no question, change or structure `{wanted}`; there are {}",
            names.join(", ")
        ),
    }
}
