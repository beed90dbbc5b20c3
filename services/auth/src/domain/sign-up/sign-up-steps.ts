/** The steps of a sign-up, in their order. Each is idempotent by account id. */
export const SIGN_UP_STEPS = ["DeployAccount", "RegisterKey", "RegisterDevice"] as const;
export type SignUpStep = (typeof SIGN_UP_STEPS)[number];
