import { FRESH_LOGIN_MAX_AGE_SECONDS, type Login } from "@countersign/client";
import { InMemoryWebStorage, UserManager, type UserManagerSettings, WebStorageStateStore } from "oidc-client-ts";
import { config } from "./config.ts";

const settings: UserManagerSettings = {
  authority: config.issuer,
  client_id: config.clientId,
  redirect_uri: new URL("/", location.href).href,
  scope: "openid email profile",
  popupWindowFeatures: { width: 460, height: 680 },
  // Nothing of a login is kept: the session's tokens are the client's.
  userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
};

/** A login, and the e-mail address that the person used. */
export interface PersonLogin {
  login: Login;
  email: string;
}

/** Logs in at the identity provider in a window of its own; the ID token is bound to the key by `nonce`. */
export async function logIn(nonce: string, email?: string): Promise<PersonLogin> {
  const user = await new UserManager(settings).signinPopup({
    nonce,
    // Two phones, perhaps of two people, share this browser's session at the provider.
    prompt: "login",
    popupAbortOnClose: true,
    max_age: FRESH_LOGIN_MAX_AGE_SECONDS,
    // The provider's window speaks and looks as this page does.
    ui_locales: document.documentElement.lang,
    extraQueryParams: { theme: document.documentElement.dataset.theme ?? "" },
    ...(email && { login_hint: email }),
  });
  const login = { method: "id_token_channel" as const, token: user.id_token ?? "", nonce };
  return { login, email: user.profile.email ?? "" };
}

/** Whether this window is the one in which the provider has answered. */
export const isLoginAnswer = (): boolean => {
  const answer = new URLSearchParams(location.search);
  return window.opener !== null && answer.has("state");
};

/** Gives the provider's answer to the page that opened this window, and closes it. */
export const passOnLogin = (): Promise<void> => new UserManager(settings).signinPopupCallback();
