export { createBlockedKeys } from "./blocked-keys.ts";
export { ACCESS_TOKEN_AUDIENCE, ACCESS_TOKEN_TYPE, REFRESH_TOKEN_TYPE } from "./claims.ts";
export { createTokenState, type TokenState } from "./state.ts";
export { createTokenVerifier, type TokenVerifierOptions } from "./verifier.ts";
export { untilCurrent, type WatchedTokenState, watchTokenState } from "./watch.ts";
