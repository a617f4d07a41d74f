//! The integration tests: one binary, a file per noun, helpers in `support`.

#[cfg(test)]
mod api;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod breaker;
#[cfg(test)]
mod callback_self;
#[cfg(test)]
mod callbacks;
#[cfg(test)]
mod ceilings;
#[cfg(test)]
mod claim;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod cli_offline;
#[cfg(test)]
mod cli_schedules;
#[cfg(test)]
mod dev;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod group;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod history;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod invitation_links;
#[cfg(test)]
mod invoke;
#[cfg(test)]
mod migrate;
#[cfg(test)]
mod mission;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod races;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod redis;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod settle;
#[cfg(test)]
mod signing;
#[cfg(test)]
mod state;
#[cfg(test)]
mod support;
#[cfg(test)]
mod suspension;
#[cfg(test)]
mod target_self;
#[cfg(test)]
mod targets;
