import { createTokenState } from "@countersign/access-tokens";
import { exportTokenStateAge, type ServiceRuntime } from "@countersign/runtime";
import type { Config } from "../config.ts";
import { startJwksServer } from "../http/jwks.ts";
import { createTokenKeys, type TokenKeysOptions } from "./token-keys.ts";
import { createTokenStateFeed, type TokenStateFeedOptions } from "./token-state-feed.ts";
import { createTokens } from "./tokens.ts";

export interface TokenStores {
  readonly tokenKeys: TokenKeysOptions["store"];
  readonly tokenState: TokenStateFeedOptions["store"];
}

/**
 * Starts what issues and checks tokens: the signing keys and their HTTP
 * server, the feed of the token state, and auth's own copy of it.
 */
export async function startTokens(
  runtime: ServiceRuntime,
  { issuer, httpListen, tokenKeyPeriodMs: periodMs, secrets: { tokenKeyEncryptionKey: encryptionKey } }: Config,
  stores: TokenStores,
) {
  const { clock, logger, metrics, onClose, dependency, signal, tls } = runtime;
  const keys = createTokenKeys({ store: stores.tokenKeys, encryptionKey, clock, periodMs });
  await keys.rotate();
  const feed = createTokenStateFeed({ store: stores.tokenState, keys, clock, logger });
  // auth checks tokens by the same stream as the other services, without the network.
  const tokenState = createTokenState({ clock });
  exportTokenStateAge(metrics, tokenState);
  const following = (async () => {
    for await (const message of feed.watch("", signal)) tokenState.apply(message);
  })();
  const reading = feed.run(signal);
  onClose("token-state", () => Promise.all([following, reading]));
  dependency("token-state", () => tokenState.current());
  const jwks = await startJwksServer({ listen: httpListen, tls, published: keys.published });
  onClose("jwks", () => jwks.close());
  return { keys, feed, tokenState, tokens: createTokens({ keys, issuer, clock }) };
}
