import { createHash } from "node:crypto";
import { AppError } from "@countersign/errors";
import { type PublicKey, publicKeyFingerprint } from "@countersign/keys";
import { decodeJwt } from "jose";
import type { Login, LoginProfile, VerifyLogin } from "../domain/login.ts";
import type { OpenIdProvider, VerifiedLogin } from "./openid-provider.ts";

/** Remembers for ten minutes what a code was exchanged for. */
export interface ExchangedCodeStore {
  /**
   * Runs alone for this code among all replicas. Answers what is remembered where binding matches and a key was used before; a mismatch deletes it and refuses; where nothing
   * is remembered `exchange` is called and its answer kept.
   */
  once(
    codeHash: string,
    used: { binding: string; keys: readonly string[] },
    exchange: () => Promise<LoginProfile>,
  ): Promise<LoginProfile | undefined>;
}

const sha256 = (...parts: string[]): string => createHash("sha256").update(JSON.stringify(parts)).digest("hex");
const invalid = (detail: string) => new AppError("InvalidLoginToken", { detail });

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** Verifies login tokens of the configured providers; see docs/sign-up.md. */
export function createVerifyLogin(providers: readonly OpenIdProvider[], codes: ExchangedCodeStore): VerifyLogin {
  function providerOf(login: Login): OpenIdProvider {
    const named = login.provider !== "";
    // An unverified `iss` only chooses among the configured ones; it is verified against that one's own keys.
    const wanted = named ? undefined : login.method === "id_token_channel" ? issuerOf(login.token) : undefined;
    const found = providers.filter(({ config }) =>
      named ? config.name === login.provider : providers.length === 1 || config.issuer === wanted,
    );
    if (found.length !== 1) throw new AppError(named || providers.length > 1 ? "UnknownProvider" : "InvalidLoginToken");
    return found[0]!;
  }

  function checkNonce({ client, nonce }: VerifiedLogin, login: Login, keys: readonly PublicKey[]): void {
    if (login.nonce !== "" && login.nonce !== nonce) throw invalid("the nonce is another one");
    // Every key that comes along: a thief's must not ride beside the one that the login is bound to.
    if (client.keyBinding === "required" && !keys.every((key) => publicKeyFingerprint(key) === nonce)) {
      throw new AppError("KeyBindingRequired");
    }
  }

  async function verifyCode(provider: OpenIdProvider, login: Login, keys: readonly PublicKey[]): Promise<LoginProfile> {
    const { clients } = provider.config;
    const redirectUri = login.redirectUri || (clients.length === 1 ? clients[0]!.redirectUris[0]! : "");
    const client = clients.find(({ redirectUris }) => redirectUris.includes(redirectUri));
    if (!client) throw invalid("no client has this redirect URI");
    if (login.codeVerifier === "" && !client.allowCodeWithoutVerifier) throw invalid("a code verifier is needed");
    const used = {
      binding: sha256(client.clientId, redirectUri, login.codeVerifier),
      keys: keys.slice(0, 1).map(publicKeyFingerprint),
    };
    const profile = await codes.once(sha256(provider.config.issuer, login.token), used, async () => {
      const idToken = await provider.exchangeCode(client, login.token, redirectUri, login.codeVerifier);
      const verified = await provider.verifyIdToken(idToken);
      if (verified.client !== client) throw invalid("the token is for another client");
      checkNonce(verified, login, keys);
      return verified.profile;
    });
    if (!profile) throw invalid("the code was used with another key, redirect URI or verifier");
    return profile;
  }

  return async (login, keys) => {
    if (login.method === "" || login.token === "") throw invalid("a login token is needed");
    const provider = providerOf(login);
    if (login.method === "redirect_code_channel") return verifyCode(provider, login, keys);
    const verified = await provider.verifyIdToken(login.token);
    checkNonce(verified, login, keys);
    return verified.profile;
  };
}
