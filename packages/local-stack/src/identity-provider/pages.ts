const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function text(value: string): string {
  return value.replace(/[&<>"']/g, (character) => escapes[character] as string);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>
  /* The values of apps/wallet/src/styles/tokens.css. */
  :root { color-scheme: light dark; --accent: light-dark(#4a3ae0, #a79eff); }
  * { box-sizing: border-box; }
  body { margin: 0; padding: 2rem 1rem; background: light-dark(#f4f3f0, #0c0c10); color: light-dark(#17151c, #f3f2f6);
    font: 400 1rem/1.5 "Geist Variable", system-ui, sans-serif; }
  main { max-width: 24rem; margin: 0 auto; padding: 2rem 1.5rem; border: 1px solid light-dark(#e3e0d9, #2b2b36);
    border-radius: 24px; background: light-dark(#ffffff, #15151b); }
  h1 { margin: 1.5rem 0 .25rem; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.025em; }
  p { margin: 0 0 1rem; color: light-dark(#615d68, #a5a2af); font-size: .875rem; }
  strong { color: light-dark(#17151c, #f3f2f6); }
  .warning, .error { padding: .75rem; border-radius: 12px; font-size: .75rem; }
  .warning, .warning strong { background: light-dark(#fbf1dc, #33260c); color: light-dark(#7a5200, #f1c063); }
  .error { background: light-dark(#fcebe9, #3a1715); color: light-dark(#b0231b, #ff958c); }
  label, input, button { display: block; width: 100%; font: inherit; }
  label { font-size: .875rem; font-weight: 500; }
  input, button { min-height: 46px; margin-top: .4rem; padding: 0 14px; border-radius: 14px; }
  input { border: 1px solid light-dark(#8d8990, #6d6a78); background: transparent; color: inherit; }
  button { margin-top: 1rem; border: 0; background: var(--accent); color: light-dark(#ffffff, #14112e); font-size: .875rem;
    font-weight: 600; cursor: pointer; }
  a { color: var(--accent); }
  form + p { margin: 1rem 0 0; text-align: center; }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
</style>
</head>
<body>
<main>
<p class="warning"><strong>Development only.</strong> This provider asks for no password: anybody who can open this page can log in as any person.</p>
${body}
</main>
</body>
</html>
`;
}

/**
 * Returns the form that asks for an e-mail address; `error` says why the last one was refused, `hint` is the
 * `login_hint` of the app.
 */
export function loginPage(uid: string, appName: string, { error = "", hint = "" } = {}): string {
  return page(
    "Log in (development)",
    `<h1>Log in</h1>
<p>to continue to <strong>${text(appName)}</strong></p>
${error ? `<p class="error" role="alert">${text(error)}</p>` : ""}
<form method="post" action="/interaction/${text(uid)}/login" autocomplete="off">
  <label for="email">Any e-mail address</label>
  <input id="email" name="email" type="text" inputmode="email" required autofocus placeholder="ada@example.com" value="${text(hint)}">
  <button type="submit">Continue</button>
</form>`,
  );
}

/** Returns the form that asks whether the app may know who this is. */
export function consentPage(uid: string, appName: string, email: string): string {
  return page(
    "Allow access (development)",
    `<h1>Allow access</h1>
<p><strong>${text(appName)}</strong> would like to know your e-mail address (${text(email)}), name and picture.</p>
<form method="post" action="/interaction/${text(uid)}/confirm">
  <button type="submit" autofocus>Allow</button>
</form>
<p><a href="/interaction/${text(uid)}/abort">Cancel</a></p>`,
  );
}

export function errorPage(message: string): string {
  return page("Error", `<h1>That did not work</h1><p class="error">${text(message)}</p>`);
}

/** Returns a picture for a name: its first letter on a colour of its own. */
export function picture(name: string, sub: string): string {
  const hue = [...sub].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 360, 7);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" fill="hsl(${hue} 55% 45%)"/>\
<text x="32" y="43" font-family="sans-serif" font-size="32" fill="white" text-anchor="middle">${text(name.slice(0, 1))}</text></svg>`;
}
