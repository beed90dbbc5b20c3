import type { ReasonEntry } from "./reason-entry.ts";

export const SESSIONS = {
  Unauthenticated: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "Authentication is required",
    cause: "The operation needs an access token and the request has none.",
    remedy: "Send `Authorization: Bearer` with the access token; sign in first if there is none.",
  },
  InvalidAccessToken: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "The access token is not valid",
    cause: "The bearer token is not an access token of this service, or was changed.",
    remedy:
      "Check that it is the `accessToken` of this service and not a login or refresh token; otherwise sign in again. " +
      "Where the gateway or a service refuses every token, its `AUTH_ISSUER` is not the one of auth.",
  },
  AccessTokenExpired: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "The access token has expired",
    cause: "The access token is older than 15 minutes.",
    remedy: "Exchange the refresh token once, then repeat the request with the new access token.",
  },
  SessionEnded: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "The session has ended",
    cause: "The session was signed out, ended by another device, replaced by a newer sign-in, or has expired.",
    remedy: "Delete the stored tokens and have the person sign in again.",
  },
  InsufficientScope: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The token does not allow this operation",
    cause: "The token is valid, but of a kind that the operation does not take; `detail` names both kinds.",
    remedy: "Use a token of a full session; enroll the device first if it has only an ephemeral or recovery token.",
  },
  CallerNotAllowed: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The caller may not use this operation",
    cause: "The certificate of the calling service has no row for this RPC in the caller table.",
    remedy: "The operator adds the caller to `deploy/peers.json`; an app cannot correct this.",
  },
  LoginTooOld: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "A fresh login is required",
    cause: "The operation needs a login of the last five minutes, and the session's is older or has no `auth_time`.",
    remedy: "Log in with `max_age=300`, sign in with that login, and repeat the request.",
  },
  InvalidRefreshToken: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "The refresh token is not valid",
    cause: "The refresh token was not issued here, or was changed.",
    remedy: "Delete the stored tokens and have the person sign in again.",
  },
  RefreshTokenReused: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "The refresh token was used before",
    cause: "A refresh token was used twice, which ends the session: a copy may be stolen.",
    remedy:
      "Delete the stored tokens and have the person sign in. Share one refresh among tabs and threads, and store each new pair before it is used.",
  },
  RefreshProofRequired: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "This session requires a proof by the device key",
    cause: "The session has sent a refresh proof before, so each refresh needs one.",
    remedy: "Send the device's signature over the refresh token with the request.",
  },
  SessionNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "No such session",
    cause: "The account has no such session, or it has ended.",
    remedy: "Read the list of sessions again.",
  },
} as const satisfies Record<string, ReasonEntry>;
