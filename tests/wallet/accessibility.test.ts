import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newEmail, openBrowser, openWallet, type View } from "./wallet.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Returns axe-core's findings on the page as it is shown now: rule, element, and what is wrong. */
async function findings(page: Page, where: string): Promise<string[]> {
  await page.evaluate(axe);
  const found: string[] = await page.evaluate(
    `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => id + ": " + node.html.slice(0, 160) + " " + (node.any[0]?.message ?? ""))))`,
  );
  return found.map((text) => `${where}: ${text}`);
}

const VIEWS: [name: string, view: View][] = [
  ["1440 px, light", { colorScheme: "light" }],
  ["1440 px, dark", { colorScheme: "dark" }],
  ["360 px, light", { width: 360, height: 740, colorScheme: "light" }],
  ["360 px, dark, German", { width: 360, height: 740, colorScheme: "dark", locale: "de-AT" }],
];

it.each(VIEWS)("axe-core finds nothing at %s, and nothing is wider than the screen", async (_name, view) => {
  const { context, page, one } = await openWallet(browser, view);
  const isGerman = view.locale !== undefined;
  const found: string[] = [];
  const look = async (where: string) => {
    found.push(...(await findings(page, where)));
    const isWider = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
    if (isWider) found.push(`${where}: the page is wider than the screen`);
  };
  await look("welcome");
  await one.logIn(isGerman ? "Weiter mit E-Mail" : "Continue with e-mail", newEmail());
  await one.screen.getByTestId("balance").waitFor({ timeout: 30_000 });
  await look("wallet");
  for (const tab of isGerman ? ["Verlauf", "Schutz", "Angriff"] : ["Activity", "Security", "Attack"]) {
    await one.tab(tab);
    await look(tab);
  }
  await one.tab(isGerman ? "Konto" : "Wallet");
  await one.press(isGerman ? "Erhalten" : "Receive");
  await look("receive");
  await one.press(isGerman ? "Zurück" : "Back");
  await one.press(isGerman ? "Skript" : "Script");
  await look("script");
  await one.press(isGerman ? "Erklären und prüfen" : "Explain and review");
  await one.screen.getByRole("dialog").waitFor();
  await look("dialog");
  await one.press(isGerman ? "Unterschreiben" : "Sign");
  await one.screen.getByRole("button", { name: isGerman ? "Fertig" : "Done" }).waitFor({ timeout: 30_000 });
  await look("sealed");
  await one.press(isGerman ? "Transaktion ansehen" : "View transaction");
  await one.see(isGerman ? "Besiegelt" : "Sealed");
  await look("transaction");
  expect(found).toEqual([]);
  await context.close();
});

/** Returns the values of all custom properties of the provider's pages, as this page has them. */
const valuesOf = (page: Page, names: readonly string[]) =>
  page.evaluate<Record<string, string>>(
    `Object.fromEntries(${JSON.stringify(names)}.map((name) => {
      const probe = document.body.appendChild(document.createElement("i"));
      for (const property of ["color", "fontSize", "fontFamily", "borderRadius", "boxShadow"])
        probe.style[property] = "var(" + name + ")";
      const { color, fontSize, fontFamily, borderRadius, boxShadow } = getComputedStyle(probe);
      probe.remove();
      return [name, [color, fontSize, fontFamily, borderRadius, boxShadow].join(" | ")];
    }))`,
  );
const NAMES = `[...document.styleSheets[0].cssRules].filter((rule) => rule.selectorText === ":root")
  .flatMap((rule) => [...rule.style]).filter((name) => name.startsWith("--"))`;

it.each(VIEWS)("the provider's pages share the wallet's design at %s", async (_name, view) => {
  const { context, page, one } = await openWallet(browser, view);
  const { width = 1440, height = 900 } = view;
  const isGerman = view.locale !== undefined;
  const found: string[] = [];
  context.on("request", (request) => {
    if (!["localhost", "127.0.0.1"].includes(new URL(request.url()).hostname)) found.push(`asks ${request.url()}`);
  });
  const button = one.screen.getByRole("button", { name: isGerman ? "Weiter mit E-Mail" : "Continue with e-mail" });
  const [popup] = await Promise.all([context.waitForEvent("page"), button.click()]);
  await popup.setViewportSize({ width, height });
  const look = async (where: string, title: string) => {
    await popup.getByRole("heading", { level: 1, name: title }).waitFor();
    found.push(...(await findings(popup, where)));
    if (await popup.evaluate("document.documentElement.scrollWidth > innerWidth")) found.push(`${where}: too wide`);
    const isWalletFont = "document.fonts.ready.then((all) => [...all].some((face) => face.status === 'loaded'))";
    if (!(await popup.evaluate(isWalletFont))) found.push(`${where}: another font`);
  };
  await look("login", isGerman ? "Anmelden" : "Log in");
  const names = await popup.evaluate<string[]>(NAMES);
  expect(names.length).toBeGreaterThan(15);
  expect(await valuesOf(popup, names)).toEqual(await valuesOf(page, names));

  await popup.locator("input[name=email]").fill("nobody");
  await popup.keyboard.press("Enter");
  await popup.getByRole("alert").waitFor();
  await look("refused login", isGerman ? "Anmelden" : "Log in");
  await popup.locator("input[name=email]").fill(`a-person-with-quite-a-long-name-${newEmail()}`);
  await popup.keyboard.press("Enter");
  await look("consent", isGerman ? "Zugriff erlauben?" : "Allow access?");

  const { origin } = new URL(popup.url());
  await popup.goto(`${origin}/interaction/none`);
  await look("error", "That did not work");
  await popup.goto(`${origin}/auth?client_id=none`);
  await look("refused app", "That did not work");
  await popup.goto(origin);
  await look("home", "Development login");
  await popup.goto(`${origin}/session/end`);
  await look("logout", "Log out?");
  await popup.getByRole("button", { name: "Log out" }).click();
  await look("logged out", "You are logged out");
  expect(found).toEqual([]);
  await context.close();
});

it("the provider's window takes the theme that was chosen in the wallet", async () => {
  const { context, page, one } = await openWallet(browser, { colorScheme: "light" });
  await page.getByRole("radio", { name: "Dark" }).click();
  const paper = "getComputedStyle(document.body).backgroundColor";
  const button = one.screen.getByRole("button", { name: "Continue with e-mail" });
  const [popup] = await Promise.all([context.waitForEvent("page"), button.click()]);
  await popup.locator("input[name=email]").waitFor();
  expect(await popup.evaluate(paper)).toBe(await page.evaluate(paper));
  await context.close();
});

it("everything is done by keyboard alone: an account, a script, a theme and a language", async () => {
  const { context, page, one } = await openWallet(browser);
  /** Presses Tab until the element of this name has the focus, which it must show. */
  const reach = async (name: RegExp) => {
    for (let presses = 0; presses < 60; presses++) {
      const text = await page.evaluate<string>(
        "(document.activeElement?.getAttribute('aria-label') ?? '') + ' ' + (document.activeElement?.textContent ?? '')",
      );
      if (name.test(text.trim())) {
        expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), String(name)).not.toBe(
          "none",
        );
        return;
      }
      await page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not lead to ${name}`);
  };
  await page.keyboard.press("Tab");
  await reach(/^Skip to the phones$/);
  await page.keyboard.press("Enter");
  await reach(/^Continue with e-mail$/);
  // At the provider: field, Continue, Cancel.
  const [cancelled] = await Promise.all([context.waitForEvent("page"), page.keyboard.press("Enter")]);
  await cancelled.locator("input[name=email]").waitFor();
  for (const name of ["Continue", "Cancel"]) {
    await cancelled.keyboard.press("Tab");
    expect(await cancelled.evaluate("document.activeElement.textContent")).toBe(name);
    expect(await cancelled.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
  }
  await Promise.all([cancelled.waitForEvent("close"), cancelled.keyboard.press("Enter")]);
  await one.see("The login was cancelled.");

  await reach(/^Continue with e-mail$/);
  const [popup] = await Promise.all([context.waitForEvent("page"), page.keyboard.press("Enter")]);
  await popup.locator("input[name=email]").waitFor();
  await popup.keyboard.type(newEmail());
  await popup.keyboard.press("Enter");
  await popup.locator("form[action$=confirm]").waitFor();
  await Promise.all([popup.waitForEvent("close"), popup.keyboard.press("Enter")]);
  await one.screen.getByTestId("balance").waitFor({ timeout: 30_000 });

  await reach(/^Script$/);
  await page.keyboard.press("Enter");
  await reach(/^Explain and review$/);
  await page.keyboard.press("Enter");
  await one.screen.getByRole("dialog").waitFor();
  await reach(/^Sign$/);
  await page.keyboard.press("Enter");
  await one.see("The script has run");
  await reach(/^Done$/);
  await page.keyboard.press("Enter");
  await one.screen.getByTestId("balance").waitFor();

  // Tabs by arrow keys.
  await reach(/^Wallet$/);
  await page.keyboard.press("ArrowRight");
  await one.screen.getByRole("heading", { name: "Activity" }).waitFor();
  await page.evaluate("document.querySelector('.brand').scrollIntoView(); document.activeElement.blur()");
  await reach(/^EN$/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Zwei Unterschriften" }).waitFor();
  expect(await page.evaluate("document.documentElement.lang")).toBe("de");
  await context.close();
});

it("the theme follows the system, and the switch", async () => {
  const { context, page } = await openWallet(browser, { colorScheme: "dark" });
  const paper = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  const dark = await paper();
  await page.getByRole("radio", { name: "Light" }).click();
  const light = await paper();
  expect(light).not.toBe(dark);
  await page.reload();
  await page.locator("h1").waitFor();
  expect(await paper()).toBe(light);
  await context.close();
});
