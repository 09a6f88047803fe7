//! The bidding mix of `examples/rubis.querent` on the embedded store under four schemas: ours, the one
//! that the nearest peer recommends, an expert's, and the normalised one.

mod data;
mod mix;
mod run;
mod table;

use crate::{Result, option};
use data::Size;
use mix::Sequence;
use run::Subject;

const MODEL: &str = include_str!("../../../examples/rubis.querent");
const SCHEMAS: &str = include_str!("../../rubis/schemas.querent");
const MIX: &str = "bidding";
/// Every schema runs each of them; which is first changes with every block.
const BLOCKS: usize = 24;

/// Schemas, and the mean response time that was published of them, over a network, in ms.
const SUBJECTS: [(&str, Option<&str>, Option<f64>); 4] = [
    ("ours", None, None),
    ("peer", Some("peer"), Some(8.4)),
    ("expert", Some("expert"), Some(41.6)),
    ("normalised", Some("normalised"), Some(87.0)),
];

/// `rubis [--users N] [--statements N]`.
pub fn run(arguments: &[String]) -> Result<()> {
    let size = Size {
        users: option(arguments, "--users", 1000)?,
    };
    let count = option(arguments, "--statements", 48_000)? as usize;
    let text = format!("{MODEL}\n{SCHEMAS}");
    let (model, _) = querent_compiler::parse("rubis.querent", &text);
    let statements = mix::statements(&model.ok_or("the model has errors")?, MODEL, MIX)?;
    let folder = tempfile::tempdir()?;
    let files = size.write(folder.path())?;
    let mut subjects = vec![];
    for (name, schema, _) in SUBJECTS {
        let subject =
            Subject::create(folder.path(), name, schema, &text, &files, statements.len())?;
        eprintln!("{name}: loaded");
        subjects.push(subject);
    }
    for (_, file) in files {
        std::fs::remove_file(file)?;
    }
    println!("{} users, {} rows of facts\n", size.users, size.rows());
    table::schemas(&subjects);

    let idle = run::idle();
    let mut sequence = Sequence::new(&statements, size);
    open(&mut subjects, false)?;
    // Pages are mapped and read once before anything counts.
    for block in 0..=BLOCKS {
        let drawn = sequence.draw(count / BLOCKS, |_| true)?;
        alternate(&mut subjects, block, &statements, &drawn, idle)?;
        if block == 0 {
            subjects.iter_mut().for_each(Subject::clear);
        }
    }
    let ran: usize = subjects[0].took.iter().map(Vec::len).sum();
    println!(
        "\n{ran} statements drawn by the weights of {MIX}, in {BLOCKS} alternating blocks; all four schemas\n\
         answered alike. Changes without sync. µs of CPU time (of changes: of all threads), and of the wall's\n"
    );
    table::overall(&statements, &subjects);
    table::groups(&statements, &subjects);
    table::each(&statements, &subjects);
    for subject in &subjects {
        subject.verify()?;
    }
    println!("\nverify: every structure of all four is as the facts have it");

    subjects.iter_mut().for_each(Subject::clear);
    open(&mut subjects, true)?;
    for block in 0..BLOCKS {
        let drawn = sequence.draw(25, |s| !s.is_question)?;
        alternate(&mut subjects, block, &statements, &drawn, idle)?;
    }
    println!("\nChanges alone, one at a time, each synced to the disk before it is acknowledged\n");
    table::synced(&statements, &subjects);
    Ok(())
}

fn open(subjects: &mut [Subject], sync: bool) -> Result<()> {
    subjects.iter_mut().try_for_each(|s| s.open(sync))
}

/// Runs a block on all schemas and checks that they answered alike.
fn alternate(
    subjects: &mut [Subject],
    block: usize,
    statements: &[mix::Statement],
    drawn: &[(usize, Vec<querent_compiler::value::Value>)],
    idle: run::Took,
) -> Result<()> {
    let count = subjects.len();
    let mut sums = vec![vec![]; count];
    for turn in 0..count {
        let at = (block + turn) % count;
        sums[at] = subjects[at].block(statements, drawn, idle)?;
    }
    for (subject, sums_of) in subjects.iter().zip(&sums) {
        for ((statement, ours), found) in statements.iter().zip(&sums[0]).zip(sums_of) {
            if ours != found {
                let (name, of) = (&statement.name, subject.name);
                return Err(format!("block {block}: {name} is answered otherwise by {of}").into());
            }
        }
    }
    Ok(())
}
