//! The dashboard in a real browser, with real managers and nodes behind it.
//!
//! Needs Debian's `chromium` and `chromium-driver`. Screenshots are written to `target/tmp/dashboard`; with `OSTRAKON_SCREENSHOTS=docs`
//! those of the documentation are made anew.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "dashboard/browser.rs"]
mod browser;
#[path = "dashboard/crowd.rs"]
mod crowd;
#[path = "dashboard/draining.rs"]
mod draining;
#[path = "manager/folder.rs"]
#[expect(dead_code, reason = "others need more of it")]
mod folder;
#[path = "dashboard/living.rs"]
mod living;
#[path = "dashboard/peering.rs"]
mod peering;
#[path = "dashboard/server.rs"]
mod server;
#[path = "dashboard/wire.rs"]
mod wire;
