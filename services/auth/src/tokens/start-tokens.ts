import { createTokenState } from "@countersign/access-tokens";
import type { Logger } from "@countersign/core";
import { exportTokenStateAge, type Metrics, type ServiceRuntime } from "@countersign/runtime";
import { Gauge } from "prom-client";
import type { Config } from "../config.ts";
import { startJwksServer } from "../http/jwks.ts";
import { createTokenKeys, type EncryptedKeys, type TokenKeysOptions } from "./token-keys.ts";
import { createTokenStateFeed, type TokenStateFeedOptions } from "./token-state-feed.ts";
import { createTokens } from "./tokens.ts";

interface TokenStores {
  readonly tokenKeys: TokenKeysOptions["store"];
  readonly identityKeys: TokenKeysOptions["store"];
  readonly tokenState: TokenStateFeedOptions["store"];
}

/** Milliseconds between two looks at what encrypts the token keys. */
const RE_ENCRYPT_MS = 60_000;

/** Exports what encrypts the token keys, and logs when the keyring's other keys are no longer needed. */
function countEncryptedKeys({ registry }: Pick<Metrics, "registry">, logger: Logger) {
  const gauge = new Gauge({
    name: "countersign_auth_encrypted_token_keys",
    help: "Stored token keys by the key of the keyring that encrypts them",
    labelNames: ["encrypted_by"] as const,
    registers: [registry],
  });
  let before: EncryptedKeys | undefined;
  return (keys: EncryptedKeys): void => {
    for (const [encrypted_by, count] of Object.entries(keys)) gauge.set({ encrypted_by }, count);
    if (before?.other && keys.other === 0)
      logger.info(
        { event: "token-keys-re-encrypted" },
        "only the first key of the keyring is in use; remove the others",
      );
    if (keys.unknown > (before?.unknown ?? 0))
      logger.error({ event: "token-keys-unreadable" }, "token keys are encrypted by a key that is not in the keyring");
    before = keys;
  };
}

/**
 * Starts what issues and checks tokens: the signing keys and their HTTP
 * server, the feed of the token state, and auth's own copy of it.
 */
export async function startTokens(
  runtime: ServiceRuntime,
  { issuer, httpListen, tokenKeyPeriodMs: periodMs, secrets: { tokenKeyEncryptionKeys: keyring } }: Config,
  stores: TokenStores,
) {
  const { clock, every, logger, metrics, onClose, dependency, signal, tls } = runtime;
  const keys = createTokenKeys({ store: stores.tokenKeys, keyring, clock, periodMs });
  // Keys of their own: no service can mistake an identity token for an access token, and no app's backend
  // an access token for an identity token.
  const identityKeys = createTokenKeys({ store: stores.identityKeys, keyring, clock, periodMs });
  const rotate = async () => {
    await keys.rotate();
    await identityKeys.rotate();
  };
  await rotate();
  const countKeys = countEncryptedKeys(metrics, logger);
  every(RE_ENCRYPT_MS, "encryption of token keys", async () => {
    const [a, b] = [await keys.reEncrypt(), await identityKeys.reEncrypt()];
    countKeys({ first: a.first + b.first, other: a.other + b.other, unknown: a.unknown + b.unknown });
  });
  const feed = createTokenStateFeed({ store: stores.tokenState, keys, clock, logger });
  // auth checks tokens by the same stream as the other services, without the network.
  const tokenState = createTokenState({ clock });
  exportTokenStateAge(metrics, tokenState);
  const following = (async () => {
    for await (const message of feed.watch({ cursor: "" }, signal)) tokenState.apply(message);
  })();
  const reading = feed.run(signal);
  onClose("token-state", () => Promise.all([following, reading]));
  dependency("token-state", () => tokenState.current());
  const jwks = await startJwksServer({
    listen: httpListen,
    tls,
    published: { tokens: keys.published, identity: identityKeys.published },
  });
  onClose("jwks", () => jwks.close());
  return { rotate, feed, tokenState, tokens: createTokens({ keys, identityKeys, issuer, clock }) };
}
