//! The integration tests: one binary, a file per noun, helpers in `support`.

#[cfg(test)]
mod api;
#[cfg(test)]
mod callback_self;
#[cfg(test)]
mod dev;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod support;
#[cfg(test)]
mod target_self;
