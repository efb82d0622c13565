#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| agentctl_fuzz::decode("claude", data));
