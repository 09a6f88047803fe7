//! Measurements of Querent, each a subcommand; without one, all of them at a quick size.

mod boundary;
mod design;
mod flips;
mod load;
mod measure;
mod reddit;
mod rubis;
mod scale;
mod structures;

use std::error::Error;
use std::process::ExitCode;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask bench [WHAT]

  reddit [--posts N] [--comments N] [--keep FOLDER]
                                      every question against hand-written code and SQLite; the
                                      databases are kept in the folder, and used again
  one FOLDER [--posts N] [--comments N] [--question Q --side library|hand --asks N]
                                      hand-written code alone, on a database that is kept in the
                                      folder; or one side of one question, for a profiler
  load [--rows N]                     a load in a process of its own: rate and memory
  design                              the time of a design; the peer's workloads by its cost model
  design --scale [--questions N] [--plot FILE.svg]
                                      its growth with the number of questions: time, memory, gap
  design --applications [--questions N] [--target T]
                                      the same over models like those of applications
  application QUESTIONS SEED [ENTITIES]
                                      the text of one of these models
  design --stability                  how often a rate that grows by 1 % changes the design
  design --flips                      whether designs flip at the rates that are told, on the large models
  rubis [--users N] [--statements N]  the peer's workload under its schemas and ours
  boundary                            the boundary to the store against hand-written code
  structures                          what open structures cost those who do not use them";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (what, rest) = match arguments.split_first() {
        Some((what, rest)) => (what.as_str(), rest),
        None => ("", &[][..]),
    };
    let done = match what {
        "" => reddit::run(rest).and_then(|()| design::run()),
        "reddit" => reddit::run(rest),
        "one" => reddit::one::run(rest),
        "load" => load::run(rest),
        "load-child" => load::child(rest),
        "design" if rest.iter().any(|a| a == "--scale") => {
            let plot = rest.iter().position(|a| a == "--plot");
            let plot = plot.and_then(|at| rest.get(at + 1)).map(String::as_str);
            option(rest, "--questions", 240).and_then(|most| scale::run(most as usize, plot))
        }
        "design" if rest.iter().any(|a| a == "--applications") => {
            let target = rest.iter().position(|a| a == "--target");
            let target = target.and_then(|at| rest.get(at + 1));
            let target = target.map_or("embedded", String::as_str);
            option(rest, "--questions", 240)
                .and_then(|most| scale::applications(most as usize, target))
        }
        "application" => application(rest),
        "design" if rest.iter().any(|a| a == "--stability") => scale::stability(),
        "design" if rest.iter().any(|a| a == "--flips") => flips::run(),
        "design" => design::run(),
        "rubis" => rubis::run(rest),
        "boundary" => boundary::run(),
        "structures" => structures::run(),
        _ => Err(format!("found `{what}`, expected one of these:\n\n{USAGE}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// Prints the model of an application.
fn application(arguments: &[String]) -> Result<()> {
    let number = |at: usize| arguments.get(at).and_then(|n| n.parse::<u64>().ok());
    let (Some(questions), Some(seed)) = (number(0), number(1)) else {
        return Err(format!("found {arguments:?}, expected a number of questions and a seed").into());
    };
    let entities = number(2).map(|n| n as usize);
    print!("{}", scale::application(questions as usize, entities, seed));
    Ok(())
}

/// The number behind a name.
pub fn option(arguments: &[String], name: &str, otherwise: u64) -> Result<u64> {
    match arguments.iter().position(|a| a == name) {
        None => Ok(otherwise),
        Some(at) => match arguments.get(at + 1).map(|n| n.parse()) {
            Some(Ok(number)) if number > 0 => Ok(number),
            found => Err(format!("{name}: found {found:?}, expected a number above 0").into()),
        },
    }
}
