//! Nodes and managers in one process, talking over real connections.

mod basics;
mod cluster;
mod managers;
mod shared;
