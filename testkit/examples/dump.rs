//! Prints the random model of a seed.
fn main() {
    let seed = std::env::args()
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(1);
    let mut rng = querent_testkit::generate::Rng::new(seed);
    #[allow(clippy::print_stdout)]
    {
        println!(
            "{}",
            querent_testkit::generate::model(&mut rng, querent_testkit::generate::Size::default())
        );
    }
}
