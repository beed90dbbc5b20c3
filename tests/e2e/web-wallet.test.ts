import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stack } from "../support/person.ts";
import { addAuthenticator, openBrowser } from "./browser.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

/** The example page in a browser of its own. */
async function openWallet() {
  const { webWallet } = stack;
  if (webWallet === undefined) throw new Error("the stack serves no web wallet");
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  await addAuthenticator(context, page);
  const open = () => page.goto(webWallet);
  await open();
  const line = (text: string) => page.locator("li", { hasText: text });
  /** Returns the rest of a line of the page's story, once it is there. */
  const shown = async (text: string) => {
    await line(text).waitFor({ timeout: 30_000 });
    return ((await line(text).textContent()) ?? "").split(text)[1] ?? "";
  };
  return { context, page, open, line, shown, complaints };
}

/** Fills in the provider's pages. */
async function logIn(page: Page, email: string): Promise<void> {
  await page.locator("input[name=email]").fill(email);
  await page.locator("button").first().click();
  const allow = page.locator("button", { hasText: "Allow" });
  await allow.or(page.locator("#story")).waitFor({ state: "attached" });
  if (await allow.isVisible()) await allow.click();
}

const newEmail = () => `page-${crypto.randomUUID()}@example.com`;

it("a person signs up on the example page with a passkey, and sees a transaction sealed", async () => {
  const { context, page, open, line, shown, complaints } = await openWallet();
  await page.locator("#sign-up").click();
  await logIn(page, newEmail());
  await shown("Signed up: 0x");
  await page.locator("#store").dblclick();
  await shown("sealed as ");

  // A double click is one transaction, and the next one is another.
  expect(await line("Stored a greeting").count()).toBe(1);
  await page.locator("#store").click();
  await line("sealed as ").nth(1).waitFor({ timeout: 30_000 });
  expect(await line("Stored a greeting").count()).toBe(2);

  // Another day: the page knows the passkey, the provider the person.
  await open();
  await page.locator("#sign-in").click();
  await shown("Signed in: 0x");
  expect(complaints).toEqual([]);
  await context.close();
});

it("a second account on the page leaves the first one its passkey, whether its login succeeds or not", async () => {
  const { context, page, open, shown, complaints } = await openWallet();
  const [ada, bob] = [newEmail(), newEmail()];
  await page.locator("#sign-up").click();
  await logIn(page, ada);
  const first = (await shown("Signed up: ")).slice(0, 18);
  expect(first).toMatch(/^0x[0-9a-f]{16}$/);

  const signInAsAda = async () => {
    await open();
    await page.locator("#sign-in").click();
    await logIn(page, ada);
    expect((await shown("Signed in: ")).slice(0, 18)).toBe(first);
    await page.locator("#store").click();
    await shown("sealed as ");
  };

  // Bob begins to sign up, and leaves; then he begins again, and cancels at the provider.
  await page.locator("#sign-up").click();
  await page.locator("input[name=email]").waitFor();
  await signInAsAda();
  await page.locator("#sign-up").click();
  await page.locator("input[name=email]").fill(bob);
  await page.locator("button").first().click();
  await page.getByText("Cancel").click();
  await shown("the person cancelled");

  await signInAsAda();
  expect(complaints).toEqual([]);

  // With Bob's account beside hers, each signs in.
  await page.locator("#sign-up").click();
  await logIn(page, bob);
  const second = await shown("Signed up: ");
  expect(second.slice(0, 18)).not.toBe(first);
  await page.locator("#account").selectOption(first);
  await page.locator("#sign-in").click();
  await logIn(page, ada);
  expect((await shown("Signed in: ")).slice(0, 18)).toBe(first);
  expect(complaints).toEqual([]);
  await context.close();
});
