//! The one table of diagnostic codes. A code never changes its meaning and is never used again.

use super::Severity;

/// A stable code with its title and explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// `E001`, `W001`, …
    pub id: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// What it means and what to do.
    pub explanation: &'static str,
}

impl Code {
    /// Errors start with `E`, warnings with `W`.
    pub fn severity(&self) -> Severity {
        if self.id.starts_with('W') {
            Severity::Warning
        } else {
            Severity::Error
        }
    }
}

macro_rules! codes {
    ($($name:ident $id:literal $title:literal $explanation:literal)*) => {
        $(#[doc = $title] pub const $name: &Code = &Code { id: $id, title: $title, explanation: $explanation };)*
        /// All codes, in order.
        pub const ALL: &[&Code] = &[$($name),*];
    };
}

codes! {
    // The text.
    SYNTAX "E001" "syntax error"
        "The text does not follow the grammar at this place. The message says what was found and what was expected."
    DEPTH "E002" "nested too deeply"
        "Expressions, types and shapes may be nested up to a fixed depth, so that no text can exhaust the machine."
    CHARACTER "E003" "character without a meaning"
        "A character that is no part of the language, or a quoted text without its closing quote."
    NUMBER "E004" "malformed number or unit"
        "A number has a unit that is not known where it stands, or a value that makes no sense there. Counts take k, M, B, T; sizes also KB, MB, GB; durations ms, s, min, h, d; rates /s, /min, /h, /day."
    NO_ENTITY "E005" "model without an entity"
        "A model says what exists. Without an entity there is nothing to ask about and nothing to store."

    // Names.
    DUPLICATE "E010" "name declared twice"
        "Two declarations of one kind, two fields of one entity (or of its supertypes and subtypes), or two members of one enumeration share a name."
    UNKNOWN_ENTITY "E011" "unknown entity"
        "No entity of that name is declared in the model."
    UNKNOWN_TYPE "E012" "unknown type"
        "A type is one of the built-in types or an enumeration of the model."
    UNKNOWN_NAME "E013" "unknown name"
        "The name is no attribute, relationship or way back of the entity (or record) where the path stands."
    UNKNOWN_MEMBER "E014" "unknown member"
        "The name is no member of the enumeration that it is compared with."
    UNKNOWN_FUNCTION "E015" "unknown function"
        "The function does not exist, or takes a different number of arguments."
    UNKNOWN_LINK "E016" "not a many-to-many relationship"
        "connect and disconnect take a relationship declared with `->>`, written Entity.name as declared. A `->` is set by update."

    // Entities.
    KEY_MISSING "E020" "entity without a key"
        "Every entity needs at least one field marked `key`. A subtype has the key of its supertype."
    KEY_PART "E021" "field cannot be part of a key"
        "A key part is a scalar that is never null: not a collection, a record, `any` or optional; and a subtype adds none."
    KEY_CYCLE "E022" "key refers to itself"
        "A key that contains a reference whose target's key leads back to the same entity has no end."
    UNIQUE "E023" "`unique` does not apply"
        "Only an attribute of a scalar type can be unique."
    SEQUENCE "E024" "`sequence` does not apply"
        "A sequence is an int or bigint attribute; `per` names a required reference of the same entity."
    CLEAR "E025" "`on delete clear` does not apply"
        "A reference can be cleared only where it may be absent: it must be optional and no part of a key."
    SIZE "E026" "sizes contradict each other"
        "An average is above its maximum, or a count, size or fan-out is zero or negative where that is impossible."
    INHERITANCE "E027" "impossible inheritance"
        "An entity cannot be its own supertype, directly or through others."
    TYPE_FORM "E028" "malformed type"
        "A list or set takes one type, a map two; keys of maps and elements of sets are scalars; a record has fields; other types take no type arguments."
    FIELD_FORM "E029" "modifier does not apply"
        "A modifier was written on a field that cannot carry it: a key inside a record, attributes of attributes, a size before the way back of a `->`, …"

    // Rates.
    RATE_MISSING "E030" "no rate"
        "Every question and change has a rate (`10/s`), a weight (`4.5`), or one number per mix (`browsing 4, bidding 7`): the best design depends on them."
    RATE_MIXED "E031" "rates and weights mixed"
        "A number with a unit is a rate, one without is a weight. A model uses one or the other throughout."
    MIXES "E032" "mixes inconsistent"
        "Either all questions and changes name their mixes or none does; and each names a mix once."

    // Expressions.
    INCOMPATIBLE "E040" "types do not fit"
        "The two sides of a comparison, or a value and the place it is put, have types that cannot be compared."
    CONSTANT "E041" "malformed constant"
        "The constant is no value of the type that it meets, such as a text that is no timestamp."
    UNORDERABLE "E042" "type has no order"
        "Collections, records, points and `any` cannot be ordered or compared with <, <=, >, >=."
    ARITHMETIC "E043" "arithmetic on something that is not a number"
        "+, -, *, / take int, bigint, float and decimal; float and decimal do not mix."
    AGGREGATE "E044" "aggregate misused"
        "sum and avg take numbers, min and max what has an order; an aggregate cannot stand inside another, nor one over the group in `where`."
    NOT_GROUPED "E045" "value is not part of the group"
        "In a grouped question every selected or ordered value is an expression of `group by` or an aggregate."
    ITEM_CLASH "E046" "two items of one name"
        "Two selected items have the same name. Give one of them another with `as`."
    PARAMETER_CLASH "E047" "parameter of two types"
        "A parameter is used in two places that need different types."
    PARAMETER_UNKNOWN "E048" "type of a parameter cannot be told"
        "A parameter gets its type from what it meets. This one meets nothing that has a type."
    CURSOR "E049" "cursor without an order"
        "`after` and `before` page through an order: the question needs an `order by`."
    TO_MANY "E050" "to-one and to-many confused"
        "The place needs a path to one where a path to many was written, or the reverse."
    NOT_A_CONDITION "E051" "condition and value confused"
        "A condition stands where a value is needed, or a value where a condition is needed."
    LIMIT "E052" "malformed limit"
        "A limit is a whole number, 0 or more, or a parameter."

    // Changes.
    KEY_UPDATE "E060" "update of a key"
        "Keys do not change: a changed key is a delete and an insert, in one change."
    VALUES "E061" "values missing"
        "A list of values must name every field that is neither optional nor a sequence. What sets a reference also gives the attributes that its links must have."
    ASSIGNMENT "E062" "cannot be assigned"
        "What is set must be a field of the entity itself, given once, and not numbered by the database. An attribute of a reference is given where the reference leads somewhere."
    FOR_EACH "E063" "`for each` misused"
        "`for each` takes a list parameter and gives each element a name that is not used otherwise."

    EXPIRY_REFUSED "E064" "expiry would be refused"
        "An instance that expires is deleted, and nobody is there to be told that something refers to it. What refers to an expiring entity, directly or by cascades, says `on delete cascade` or `on delete clear`."
    NO_STATEMENT "E065" "block without a statement"
        "A change says what it does to the facts, and `for each` what is done for each element: at least one statement."

    // Schemas.
    NOT_KEPT "E070" "structure cannot keep this"
        "A structure that lists keeps what belongs to the instance of each row, a structure that groups keeps aggregates of each group and what its key determines. Many things are kept as a shape (`comments { … }`) or as an aggregate (`count(comments)`). Of a group `count`, `sum` and `avg` are kept; when the least or the greatest of its values goes, or one of several that are distinct, the row would not tell what is left."
    KEY_VALUE "E071" "no part of a key"
        "Parts of a key are scalars that the row determines: no collection, no record, no aggregate."

    // Designs.
    NO_DESIGN "E080" "no design for the target"
        "No set of structures meets what the target demands: it allows fewer structures than the facts alone need, or no plan answers a question there."

    // Later versions.
    LATER "E090" "not yet supported"
        "The form is part of the language and understood, but this version cannot design for it yet."

    // Warnings.
    MAX_MISSING "W001" "no `max`"
        "How many there are at most decides the design: of a relationship, and of the elements of a list, set or map. Without `max`, 100 times the average is assumed."
    COUNT_MISSING "W002" "entity without a count"
        "Volumes decide the design. Without a count, 1000 instances are assumed."
    // W003 said that the expiry of a single insert was ignored.
    SUBTYPE_COUNT "W004" "more subtypes than instances"
        "The counts of the subtypes add up to more than the count of their supertype, which includes them."
    NEVER_NULL "W005" "required value compared with null"
        "A value that is required is never null: `is null` never holds of it, and `is not null` always does."
    UNSTATED "W006" "number of values not stated"
        "A partition holds all that share a value of the attribute, and the model does not say how many do: all of them are taken to. Write `unique` where no two share a value, else how many values there are and how many share one of them at most: `distinct 1000 (max 50k)`."
    CONTRADICTION "W007" "numbers contradict each other"
        "Counts, averages and maxima of the model cannot all be true: as many as refer are as many as there are, and no more share a value than exist."
    CHANGES_NOTHING "W008" "update that changes nothing"
        "Everything that the update sets is set to what it is already, and it has no `if` that could refuse the change."
    EVERY_INSTANCE "W009" "every instance is changed"
        "An update or a delete without `where` is about every instance of the entity. Where that is meant, `where true` says so."
    OVERWRITES "W010" "two facts overwrite one another"
        "Two instances can have the same key in this structure, so that the second one written replaces the first. Querent completes the key; in a store without it, add what is missing."

    // Limits of a target, found by the design.
    PARTITION_LIMIT "W020" "partition beyond the target's limit"
        "The rows, values or bytes of a partition may outgrow the target, and no bucket of time and no salt brings them down. The number that makes it so is underlined."
    ROW_LIMIT "W021" "row beyond the target's limit"
        "A row (a document, an item) may become larger than the target stores."
    COLLECTION_LIMIT "W022" "collection beyond the target's limit"
        "A collection may have more elements than the target keeps in one row."
    KEY_LIMIT "W023" "key beyond the target's limit"
        "A text that is kept in order may be too long for a key, or for the clustering part of one, which is then refused. State its largest length, or a smaller one."
    READ_LIMIT "W024" "partition read too often"
        "The hottest partition is read more often than the target serves one. Salts do not help, because each read gathers all of them: a cache does, or a question that asks for less of it."
    WRITE_LIMIT "W025" "partition written too often"
        "The hottest partition takes more writes than the target accepts for one, and the writes fall on one row, which no salt divides, or on more salts than can be read."
    NOT_ATOMIC "W026" "change that the target does not make atomic"
        "The change is declared `atomic`, and what it writes is not in one partition, document or row, which is all that the target writes together or not at all. A failure half-way may leave a part of it, and a reader may see one."
    SCANS "W030" "statement goes through everything"
        "With the structures that were given, the question goes through one of them from its start for each answer, until it has what it wants; or the change does, to find what it changes or who refers to it."
    SORTS "W031" "order that no structure gives"
        "The structure that the question reads keeps its rows in another order, so that they are all read and sorted for each answer, whatever the limit."
    UNUSED "W032" "structure without a use"
        "The structure answers no question, is the home of no fact and checks nothing: it is only written."
    COUNTERS "W033" "counters among other values"
        "The target keeps counters (counts, and sums of whole numbers) in rows of their own: a row that has one holds nothing else but its key."
    SEARCHES "W034" "search through everything"
        "The cheapest plan reads all rows of a structure and throws nearly all of them away: no structure finds those that are wanted, or none is worth keeping at the rates of the model."
    UNREAD "W035" "value without a use"
        "The structure keeps a collection or an aggregate that no question reads: it is only written, whenever something that it is made of changes."
}
