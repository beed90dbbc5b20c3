export const EVENTS_STREAM = "CS_EVENTS";
export const EVENTS_SUBJECTS = "cs.v1.>";
