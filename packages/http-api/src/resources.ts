/*
 * The resources that the HTTP API answers with. Each is written here only: the gateway makes its OpenAPI
 * document from them, the client takes its types from them, the contract tests check real answers with them.
 */
export * from "./resources/account.ts";
export * from "./resources/device.ts";
export * from "./resources/key.ts";
export * from "./resources/problem.ts";
export * from "./resources/session.ts";
export * from "./resources/signing.ts";
export * from "./resources/two-factor.ts";
