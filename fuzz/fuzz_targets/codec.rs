#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| querent_testkit::fuzz::codec_target(data));
