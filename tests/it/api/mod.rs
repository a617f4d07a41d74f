//! The API over HTTP, on real PostgreSQL: every operation against its document, every refusal, and
//! what owners do with jobs and queues.

mod audit;
mod auth;
mod batch;
mod calendars;
mod chosen_team;
mod contract;
mod edge;
mod fields;
mod fires;
mod hostile;
mod idempotency;
mod keys;
mod lists;
mod login;
mod moves;
mod openapi;
mod patch;
mod payloads;
mod people;
mod preview;
mod privacy;
mod problems;
mod queues;
mod quotas;
mod recipes;
mod retention;
mod runs;
mod schedules;
mod scopes;
mod tenancy;
mod validation;
