import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { ProviderAccount } from "./accounts.ts";
import { DEFAULT_LOOK, type Look, textsOf } from "./texts.ts";

const style = readFileSync(join(import.meta.dirname, "pages.css"), "utf8");

/** The wallet's font, served by the provider itself: its pages load nothing from elsewhere. */
export const font = readFileSync(
  createRequire(import.meta.url).resolve("@fontsource-variable/geist/files/geist-latin-wght-normal.woff2"),
);

/** The headers of a page. Without `form-action`: Chromium applies it to the redirect to the app as well. */
export const PAGE_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; font-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
};

const MARK = `<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9" fill="#4a3ae0"/>\
<circle cx="13" cy="16" r="6.5" fill="none" stroke="#fff" stroke-width="3"/>\
<circle cx="19" cy="16" r="6.5" fill="none" stroke="#fff" stroke-width="3" stroke-opacity=".6"/></svg>`;

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function text(value: string): string {
  return value.replace(/[&<>"']/g, (character) => escapes[character] as string);
}

const strong = (value: string): string => `<strong>${text(value)}</strong>`;

/** A page with this title and lede; both `lede` and `body` are HTML. */
function page(look: Look, title: string, lede: string, body = ""): string {
  const t = textsOf(look);
  return `<!doctype html>
<html lang="${look.language}"${look.theme ? ` data-theme="${look.theme}"` : ""}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<link rel="icon" href="data:,">
<style>
${style}</style>
</head>
<body>
<div class="card">
<main>
${MARK}
<header>
<h1>${text(title)}</h1>
<p>${lede}</p>
</header>
${body}
</main>
<footer><strong>${text(t.development)}</strong> ${text(t.developmentText)}</footer>
</div>
</body>
</html>
`;
}

/**
 * Returns the form that asks for an e-mail address; `isRefused` where the last one was none, `hint` is the
 * `login_hint` of the app.
 */
export function loginPage(look: Look, uid: string, appName: string, { isRefused = false, hint = "" } = {}): string {
  const t = textsOf(look);
  const refusal = `<p class="error" id="refusal" role="alert">${text(t.noEmail)}</p>`;
  return page(
    look,
    t.logIn,
    t.continueTo(strong(appName)),
    `<form method="post" action="/interaction/${text(uid)}/login" autocomplete="off">
<div class="field">
<label for="email">${text(t.email)}</label>
<input id="email" name="email" type="text" inputmode="email" required autofocus placeholder="ada@example.com" value="${text(hint)}" aria-describedby="${isRefused ? "refusal" : "hint"}"${isRefused ? ' aria-invalid="true"' : ""}>
${isRefused ? refusal : `<small id="hint">${text(t.emailHint)}</small>`}
</div>
<div class="buttons">
<button class="button primary" type="submit">${text(t.continue)}</button>
<a class="button" href="/interaction/${text(uid)}/abort">${text(t.cancel)}</a>
</div>
</form>`,
  );
}

/** Returns the form that asks whether the app may know who this is. */
export function consentPage(look: Look, uid: string, appName: string, account: ProviderAccount | undefined): string {
  const t = textsOf(look);
  const { sub = "", email = "", name = "" } = account ?? {};
  return page(
    look,
    t.allowAccess,
    t.willRead(strong(appName)),
    `<div class="person"><img src="/picture/${text(sub)}.svg" alt=""><span>${text(name)}<small>${text(email)}</small></span></div>
<form method="post" action="/interaction/${text(uid)}/confirm">
<div class="buttons">
<button class="button primary" type="submit" autofocus>${text(t.allow)}</button>
<a class="button" href="/interaction/${text(uid)}/abort">${text(t.cancel)}</a>
</div>
</form>`,
  );
}

/** Returns the question before a logout; `form` is oidc-provider's, with its hidden fields only. */
export function logoutPage(form: string): string {
  return page(
    DEFAULT_LOOK,
    "Log out?",
    "This ends your login at this provider. Accounts and phones stay as they are.",
    `${form}
<div class="buttons">
<button class="button primary" type="submit" form="op.logoutForm" name="logout" value="yes" autofocus>Log out</button>
<button class="button" type="submit" form="op.logoutForm">Stay logged in</button>
</div>`,
  );
}

export const loggedOutPage = (): string => page(DEFAULT_LOOK, "You are logged out", "You can close this window.");

export const errorPage = (message: string): string =>
  page(
    DEFAULT_LOOK,
    "That did not work",
    "Close this window and start again in the app.",
    `<p class="error" role="alert">${text(message)}</p>`,
  );

/** Returns the page of the provider's address, for a developer who opens it. */
export function homePage(): string {
  return page(
    DEFAULT_LOOK,
    "Development login",
    "Countersign's OpenID provider for development. Apps send people here to log in.",
    `<a class="button" href="/.well-known/openid-configuration">Discovery document</a>`,
  );
}

/** Returns a picture for a name: its first letter on a colour of its own. */
export function picture(name: string, sub: string): string {
  const hue = [...sub].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 360, 7);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" fill="hsl(${hue} 55% 45%)"/>\
<text x="32" y="43" font-family="sans-serif" font-size="32" fill="white" text-anchor="middle">${text(name.slice(0, 1))}</text></svg>`;
}
