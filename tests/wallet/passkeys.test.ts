import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newEmail, openBrowser, openWallet } from "./wallet.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

it("a passkey opens an account, signs, and signs in again after the page was closed", async () => {
  const email = newEmail();
  const { context, page, one, two, complaints } = await openWallet(browser);
  await one.signUp(email, "Passkey");
  await one.press("Script");
  await one.press("Explain and review");
  await one.press("Sign");
  await one.see("The script has run");
  await one.press("Done");

  // The session outlives the page; after signing out the same passkey signs in.
  await page.reload();
  await one.screen.getByTestId("balance").waitFor({ timeout: 30_000 });
  const address = await one.address();
  await one.tab("Security");
  await one.press("Sign out");
  await one.logIn("Sign in again", email);
  await one.screen.getByTestId("balance").waitFor({ timeout: 30_000 });
  expect(await one.address()).toBe(address);

  // The other phone is another device: it has no session and no key.
  await two.see("Your account, in two hands");
  expect(complaints).toEqual([]);
  await context.close();
});

it("a login that the person closes opens nothing, and the phone can go on", async () => {
  const { context, one, complaints } = await openWallet(browser);
  const button = one.screen.getByRole("button", { name: "Continue with e-mail" });
  const [popup] = await Promise.all([context.waitForEvent("page"), button.click()]);
  await popup.locator("input[name=email]").waitFor();
  await popup.close();
  await one.see("The login window was closed.");
  await one.logIn("Continue with e-mail", newEmail());
  await one.screen.getByTestId("balance").waitFor({ timeout: 30_000 });
  expect(complaints).toEqual([]);
  await context.close();
});
