//! Popular keys in random designs: that they are met at all, and loaded.

use querent_testkit::differential::Effort;
use querent_testkit::script::random;

/// Random designs with small partitions split popular keys, and read through them: else the
/// differential tests would say nothing about them.
#[test]
fn random_designs_split_popular_keys() {
    let (mut designs, mut split, mut read) = (0, 0, 0);
    for seed in (6..=150).step_by(6) {
        let script = random(seed, Effort::default()).unwrap();
        let ready = script.ready().unwrap();
        let design = &ready.schema.design;
        designs += 1;
        split += usize::from(!design.splits.is_empty());
        let listed = |p: &&querent::compiler::design::PricedPlan| {
            let steps = design.plan_steps(&ready.schema.model, &p.plan);
            steps.iter().any(|s| s["op"] == "list")
        };
        read += design.plans.iter().filter(listed).count();
    }
    eprintln!("{designs} designs, {split} split, {read} plans through them");
    assert!(
        split > 0 && read > 0,
        "{designs} designs, {split} split, {read} read"
    );
}
