//! Loads in a process of their own: rows a second, and the most anonymous memory held.

use crate::reddit::data::{self, Size};
use crate::{Result, option, reddit};
use querent::Database;
use querent::load::LoadOptions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two looks at the memory.
const LOOK: Duration = Duration::from_millis(10);

/// `load [--rows N]`: files of so many rows in all, ten comments to a post.
pub fn run(arguments: &[String]) -> Result<()> {
    let rows = option(arguments, "--rows", 100_000)?;
    let size = Size {
        posts: rows / 11,
        comments: rows - rows / 11,
    };
    let folder = tempfile::tempdir()?;
    let files = data::write(folder.path(), size)?;
    println!("{}", HEADER);
    println!(
        "{}",
        in_child(&folder.path().join("querent"), &files, size)?
    );
    Ok(())
}

pub const HEADER: &str = "\
| rows loaded | seconds (wall) | rows a second (wall) | rows a CPU second | most anonymous memory |
|---|---|---|---|---|";

/// Creates a database and loads the files into it, in a child; a row of the table above.
pub fn in_child(path: &Path, files: &[(&str, PathBuf)], size: Size) -> Result<String> {
    let mut child = Command::new(std::env::current_exe()?);
    child.arg("load-child").arg(path);
    child.args(
        files
            .iter()
            .map(|(entity, file)| format!("{entity}={}", file.display())),
    );
    let output = child.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("the load failed".into());
    }
    let said = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = said
        .split_whitespace()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?;
    let [seconds, cpu, peak] = numbers[..] else {
        return Err(format!("the load said `{said}`").into());
    };
    let rows = size.rows() as f64;
    Ok(format!(
        "| {rows} | {seconds:.1} | {:.0} | {:.0} | {peak:.0} MB |",
        rows / seconds,
        rows / cpu
    ))
}

/// The child: prints seconds of wall and CPU time, and the most anonymous memory in MB.
pub fn child(arguments: &[String]) -> Result<()> {
    let (path, files) = arguments.split_first().ok_or("no folder")?;
    let db = Database::create(path, "reddit.querent", reddit::MODEL)?;
    let mut sources = vec![];
    for file in files {
        let (entity, file) = file.split_once('=').ok_or("expected ENTITY=FILE")?;
        sources.push((db.entity(entity)?, PathBuf::from(file)));
    }
    let (done, mut peak) = (AtomicBool::new(false), 0);
    let cpu = cpu_seconds()?;
    let report = std::thread::scope(|scope| -> Result<_> {
        let watch = scope.spawn(|| {
            let mut peak = 0;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(anonymous_kb().unwrap_or(0));
                std::thread::sleep(LOOK);
            }
            peak
        });
        let loaded = db.load(&sources, &LoadOptions::default(), &mut |_| {});
        done.store(true, Ordering::Relaxed);
        peak = watch.join().map_err(|_| "the watch ended early")?;
        Ok(loaded?.1)
    })?;
    if !report.applied {
        return Err(format!("rows were rejected: {:?}", report.rejects.first()).into());
    }
    println!(
        "{} {} {}",
        report.seconds,
        cpu_seconds()? - cpu,
        peak as f64 / 1024.0
    );
    Ok(())
}

fn anonymous_kb() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("RssAnon:"))
        .ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
}

/// Of all threads of this process.
fn cpu_seconds() -> Result<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}
