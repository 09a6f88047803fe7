//! What an open database knows of itself: model, design, layouts and access paths.

use crate::layout::{Column, KeyPart, Layout};
use crate::operator::{AskError, BoundPlan};
use crate::verify::concrete;
use querent_compiler::design::access::Access;
use querent_compiler::design::{Design, Plan, StructureId};
use querent_compiler::model::{EntityId, Field, Model, Sequence, Type};
use querent_compiler::value::Value;
use querent_compiler::view::reads::{Reads, node_reads};
use querent_compiler::view::stored_types;
use std::sync::{Arc, OnceLock};

/// The name of the structure in which sequences count.
const SEQUENCES: &str = "_sequences";

/// A model, its design, and what follows from them.
#[derive(Debug)]
pub struct Schema {
    /// The model.
    pub model: Model,
    /// The design.
    pub design: Design,
    /// The layouts of the design's structures, by position, and behind them that of the sequences.
    pub layouts: Vec<Arc<Layout>>,
    /// Access paths.
    pub access: Access,
    /// What each structure reads.
    pub(crate) reads: Vec<Reads>,
    /// The plans of the questions, bound when they are first asked.
    questions: Vec<OnceLock<BoundPlan>>,
    /// The plans that find what a change is about, by change, bound when they are first needed.
    finds: Vec<Vec<OnceLock<BoundPlan>>>,
}

impl Schema {
    /// Derives everything from a model and its design. The model is then that of the text and the
    /// numbers that the design asks for.
    pub fn new(model: Model, design: Design) -> Schema {
        let model = design.model_of(&model);
        let layouts = design.structures.iter().map(|s| {
            let types = stored_types(&model, s);
            let columns = types.columns.into_iter();
            Layout::new(
                types.key,
                columns
                    .map(|(ty, optional)| Column { ty, optional })
                    .collect(),
            )
            .named(&s.name)
        });
        let layouts = layouts.chain([sequence_layout()]).map(Arc::new).collect();
        let access = Access::new(&model, &design.structures);
        let reads = design.structures.iter().map(|s| node_reads(&model, s));
        let reads = reads.collect();
        let unbound = |plans: usize| (0..plans).map(|_| OnceLock::new()).collect();
        let questions = unbound(design.plans.len());
        let finds = design.writes.iter().map(|w| unbound(w.finds.len()));
        let finds = finds.collect();
        Schema {
            model,
            design,
            layouts,
            access,
            reads,
            questions,
            finds,
        }
    }

    /// The bound plan of a question, by its position.
    pub(crate) fn question(&self, at: usize) -> Result<Option<&BoundPlan>, AskError> {
        let plan = self.design.plans.get(at).map(|one| &one.plan);
        self.bound(plan.zip(self.questions.get(at)))
    }

    /// The bound plan that finds what a statement of a change is about, where there is one.
    pub(crate) fn find(&self, change: usize, at: usize) -> Result<Option<&BoundPlan>, AskError> {
        let plan = self
            .design
            .writes
            .get(change)
            .and_then(|w| w.finds.get(at)?.as_ref());
        let kept = self.finds.get(change).and_then(|finds| finds.get(at));
        self.bound(plan.zip(kept))
    }

    fn bound<'s>(
        &'s self,
        plan: Option<(&Plan, &'s OnceLock<BoundPlan>)>,
    ) -> Result<Option<&'s BoundPlan>, AskError> {
        let Some((plan, kept)) = plan else {
            return Ok(None);
        };
        if let Some(bound) = kept.get() {
            return Ok(Some(bound));
        }
        let bound = BoundPlan::new(plan, &self.layouts)?;
        Ok(Some(kept.get_or_init(|| bound)))
    }

    /// The structure in which sequences count: behind those of the design.
    pub fn sequences(&self) -> StructureId {
        self.design.structures.len() as StructureId
    }

    /// The names of all stored structures, in order.
    pub fn structure_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .design
            .structures
            .iter()
            .map(|s| s.name.clone())
            .collect();
        names.push(SEQUENCES.into());
        names
    }

    /// Gives a whole row that does not say when it expires the deadline of what is made now.
    pub(crate) fn set_deadline(&self, root: EntityId, row: &mut [Value], now: i64) {
        let Some(slot) = self.model.deadline_slot(root) else {
            return;
        };
        let of = crate::verify::concrete(&self.model, root, row).unwrap_or(root);
        if let Some(place) = row.get_mut(slot).filter(|v| v.is_null()) {
            *place = crate::expiry::deadline(now, self.model.lifetime(of));
        }
    }

    /// Attributes of an entity's row that the database numbers: slot, and the reference that they
    /// are counted per.
    pub(crate) fn sequence_slots(&self, root: EntityId) -> Vec<(usize, Sequence)> {
        let fields = self.model.root(root).fields.iter().enumerate();
        fields
            .filter_map(|(slot, field)| match field {
                Field::Attribute(a) => Some((slot, self.model.attribute(*a).sequence.clone()?)),
                _ => None,
            })
            .collect()
    }

    /// Whether a sequence gives this number: it is one of its attribute's. The largest of all is
    /// never given, so that there is always a next one.
    pub(crate) fn has_number(&self, root: EntityId, slot: usize, number: i64) -> bool {
        match self.model.root(root).fields.get(slot) {
            Some(Field::Attribute(a)) if self.model.attribute(*a).ty == Type::Int => {
                i32::try_from(number).is_ok()
            }
            _ => number < i64::MAX,
        }
    }

    /// Of these, those that a whole row leaves out although its type has them.
    pub(crate) fn missing_numbers(&self, root: EntityId, row: &[Value]) -> Vec<(usize, Sequence)> {
        let model = &self.model;
        let mut slots = self.sequence_slots(root);
        slots.retain(|&(slot, _)| {
            row.get(slot).is_some_and(Value::is_null)
                && match (
                    model.root(root).fields.get(slot),
                    concrete(model, root, row),
                ) {
                    (Some(Field::Attribute(a)), Some(of)) => {
                        model.is_a(of, model.attribute(*a).entity)
                    }
                    _ => false,
                }
        });
        slots
    }
}

/// Key: what is counted, and per what; row: the last number given.
fn sequence_layout() -> Layout {
    use querent_compiler::model::{Direction, Size};
    let text = Type::Text(Size {
        avg: 16.0,
        max: None,
    });
    let part = |ty| KeyPart {
        ty,
        optional: false,
        direction: Direction::Asc,
        // Counters are found by their whole name only, in which keys of instances may occur.
        hashed: true,
    };
    Layout::new(
        vec![part(text.clone()), part(text)],
        vec![Column {
            ty: Type::BigInt,
            optional: false,
        }],
    )
    .named(SEQUENCES)
}
