#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| querent_testkit::fuzz::row_target(data));
