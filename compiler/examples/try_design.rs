use querent_compiler::design::{design, Options};
fn main() {
    for f in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&f).unwrap();
        let (m, d) = querent_compiler::parse(&f, &text);
        for x in &d { eprintln!("{:?}: {}", x.code.id, x.message); }
        let Some(m) = m else { continue };
        let t = std::time::Instant::now();
        match design(&m, &Options::embedded()) {
            Ok(d) => {
                let s = t.elapsed().as_secs_f64();
                eprintln!("{f}: {} structures, {} candidates, {} vars, total {} in {s:.3}s opt {}", d.structures.len(), d.search.candidates, d.search.variables, d.total, d.search.optimal);
                if std::env::var("V").is_ok() { println!("{}", serde_json::to_string_pretty(&d.to_json(&m, s)).unwrap()); }
            }
            Err(e) => eprintln!("{f}: {e} after {:?}", t.elapsed()),
        }
    }
}
