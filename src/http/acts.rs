//! Which act of the role table every operation is: what the OpenAPI document states as `x-axle-act`.
//! The engine enforces it; a test walks every operation with every role and compares.

use utoipa::openapi::OpenApi;
use utoipa::openapi::extensions::Extensions;

use crate::domain::principal::Act;

/// Operations by what they take. What is not listed asks nobody who they are.
const ACTS: &[(Act, &[&str])] = &[
    (
        Act::Read,
        &[
            "listJobs",
            "getJob",
            "listRuns",
            "listEvents",
            "getRun",
            "getQueue",
            "previewSchedule",
            "listSchedules",
            "getSchedule",
            "listFires",
            "listCalendars",
            "getCalendar",
            "listTeams",
            "getTeam",
            "getQuotas",
            "listMembers",
            "getMember",
            "verifyCall",
            "listTargets",
        ],
    ),
    (
        Act::Write,
        &[
            "createJob",
            "createJobs",
            "changeJob",
            "cancelJob",
            "createSchedule",
            "putSchedule",
            "changeSchedule",
            "deleteSchedule",
            "pauseSchedule",
            "resumeSchedule",
            "putCalendar",
            "deleteCalendar",
        ],
    ),
    (
        Act::Operate,
        &[
            "runJobNow",
            "rerunJob",
            "pauseQueue",
            "resumeQueue",
            "triggerSchedule",
            "backfillSchedule",
        ],
    ),
    (Act::Configure, &["putQueue"]),
    (
        Act::Manage,
        &[
            "createKey",
            "listKeys",
            "getKey",
            "revokeKey",
            "rollKey",
            "revokeToken",
            "listAudit",
            "exportAudit",
            "putMember",
            "removeMember",
            "invite",
            "createSigningSecret",
            "listSigningSecrets",
            "rotateSigningSecret",
            "revokeSigningSecret",
        ],
    ),
    (Act::Own, &["changeTeam"]),
    (Act::Install, &["createTeam", "suspendTeam", "unsuspendTeam", "changeQuotas"]),
];

/// The name of the extension.
const EXTENSION: &str = "x-axle-act";

/// The act of an operation; none if it asks nobody who they are, or everybody may.
pub fn act_of(operation: &str) -> Option<Act> {
    ACTS.iter().find(|(_, operations)| operations.contains(&operation)).map(|(act, _)| *act)
}

/// States the act of every operation.
pub(super) fn state(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            let act = operation.operation_id.as_deref().and_then(act_of);
            if let Some(act) = act {
                let stated = Extensions::builder().add(EXTENSION, act.as_str()).build();
                operation.extensions = Some(stated);
            }
        }
    }
}
