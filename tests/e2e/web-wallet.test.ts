import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { addAuthenticator, openBrowser } from "./browser.ts";
import { stack } from "./person.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

it("a person signs up on the example page with a passkey, and sees a transaction sealed", async () => {
  const { webWallet } = stack;
  if (webWallet === undefined) throw new Error("the stack serves no web wallet");
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  await addAuthenticator(context, page);

  const logIn = async () => {
    await page.locator("input[name=email]").fill(`page-${crypto.randomUUID()}@example.com`);
    await page.locator("button").first().click();
    await page.locator("button").first().click();
  };
  const told = (text: string) => page.locator("li", { hasText: text }).waitFor({ timeout: 30_000 });

  await page.goto(webWallet);
  await page.locator("#sign-up").click();
  await logIn();
  await told("Signed up: 0x");
  await page.locator("#store").click();
  await told("sealed as ");

  // Another day: the page knows the passkey, the provider the person.
  await page.goto(webWallet);
  await page.locator("#sign-in").click();
  await told("Signed in: 0x");
  expect(complaints).toEqual([]);
  await context.close();
});
