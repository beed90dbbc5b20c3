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
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 3rem auto; padding: 0 1rem; }
  .warning { background: #fff3cd; border: 1px solid #d39e00; color: #533f03; padding: .6rem .8rem; border-radius: .4rem; }
  .error { color: #a30000; }
  label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit; }
  input, button { padding: .6rem; margin-top: .4rem; border-radius: .4rem; border: 1px solid #888; }
  button { background: #1a4fa0; color: white; border: 0; margin-top: 1rem; cursor: pointer; }
</style>
</head>
<body>
<p class="warning"><strong>Development only.</strong> This provider asks for no password: anybody who can open this page can log in as any person.</p>
${body}
</body>
</html>
`;
}

/** Returns the form that asks for an e-mail address; `error` says why the last one was refused. */
export function loginPage(uid: string, appName: string, error?: string): string {
  return page(
    "Log in (development)",
    `<h1>Log in</h1>
<p>to continue to <strong>${text(appName)}</strong></p>
${error ? `<p class="error" role="alert">${text(error)}</p>` : ""}
<form method="post" action="/interaction/${text(uid)}/login" autocomplete="off">
  <label for="email">Any e-mail address</label>
  <input id="email" name="email" type="text" inputmode="email" required autofocus placeholder="ada@example.com">
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
