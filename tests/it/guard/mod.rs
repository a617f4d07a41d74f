//! What may be called: refused at the door where it can be known, and at the call in any case.

mod calls;
mod namespace;
mod registration;
