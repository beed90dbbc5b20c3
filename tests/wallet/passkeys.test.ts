import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { addAuthenticator } from "../e2e/browser.ts";
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
  await two.see("A second phone");
  expect(complaints).toEqual([]);
  await context.close();
});

it("two people with passkeys share a browser: each phone keeps its owner's key and account", async () => {
  const { context, page, one, two, complaints } = await openWallet(browser);
  // A second authenticator, as a security key beside the system's own.
  await addAuthenticator(context, page, "usb");
  const owners = [
    [one, newEmail()],
    [two, newEmail()],
  ] as const;
  const addresses: string[] = [];
  for (const [phone, email] of owners) {
    await phone.signUp(email, "Passkey");
    addresses.push(await phone.address());
  }
  expect(addresses[0]).not.toBe(addresses[1]);

  // The first one pays the second one: the key of phone 1 signs, though the newest passkey is phone 2's.
  await one.press("Send");
  await one.press("Get 25 test tokens");
  await one.press("Review");
  await one.see(`Sends 1.5 FLOW to ${addresses[1]}.`);
  await one.press("Sign");
  await one.see("1.5 FLOW sent");
  await expect.poll(() => two.balance(), { timeout: 20_000 }).toBeCloseTo(1.501);
  await one.press("Done");

  // Each signs in again to its own account, after the page was closed and both had signed out.
  await page.reload();
  for (const [phone] of owners) {
    await phone.tab("Security");
    await phone.press("Sign out");
  }
  for (const [at, [phone, email]] of owners.entries()) {
    await phone.logIn("Sign in again", email);
    await phone.screen.getByTestId("balance").waitFor({ timeout: 30_000 });
    expect(await phone.address()).toBe(addresses[at]);
    await phone.press("Script");
    await phone.press("Explain and review");
    await phone.press("Sign");
    await phone.see("The script has run");
    await phone.press("Done");
  }
  expect(complaints).toEqual([]);
  await context.close();
});

it("a passkey that the person refuses signs nothing, and the phone says so", async () => {
  const { context, one, refusePasskeys } = await openWallet(browser);
  await one.signUp(newEmail(), "Passkey");
  await refusePasskeys();
  await one.press("Script");
  await one.press("Explain and review");
  await one.press("Sign");
  await one.see("The passkey was not used. Nothing was signed.");
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
