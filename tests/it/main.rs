//! The integration tests: one binary, a file per noun, helpers in `support`.

#[cfg(test)]
mod callback_self;
#[cfg(test)]
mod callbacks;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod dev;
#[cfg(test)]
mod invoke;
#[cfg(test)]
mod mission;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod support;
#[cfg(test)]
mod target_self;
