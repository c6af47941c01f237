//! A supervisor for tests, in a process of its own: it is told what to run, and says what came of it.
//!
//! `with-refused CALL=ERROR… -- PROGRAM…` runs a program for which the kernel refuses some calls, as an old
//! kernel or a container does. So every step of a sandbox can be made to fail without a switch in it.
//!
//! Must never: be shipped.

#[cfg(target_os = "linux")]
mod refused;
#[cfg(target_os = "linux")]
mod supervisor;

fn main() {
    #[cfg(target_os = "linux")]
    {
        let words: Vec<String> = std::env::args().skip(1).collect();
        match words.first().map(String::as_str) {
            Some(agentry_sandbox::helper::VERB) => {
                agentry_sandbox::helper::serve(&[]).expect("the supervisor can be heard");
            }
            Some("with-refused") => refused::run(&words[1..]),
            Some("run") => supervisor::run(&words[1]),
            other => panic!("there is no verb {other:?}"),
        }
    }
}
