import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newEmail, openBrowser, openWallet, type Phone } from "./wallet.ts";

/** Each attack of the page, and the reason with which the service refuses it. */
const REASONS = {
  "changed-message": "UserSignatureInvalid",
  "foreign-device": "UserSignatureInvalid",
  "unknown-key": "PleaseRegisterKey",
  "drained-payer": "PaymasterWouldAuthorize",
  "foreign-account": "NotYourAccount",
  "hidden-key": "ForbiddenEntitlement",
  "forged-token": "InvalidAccessToken",
  "replayed-challenge": "UnknownChallenge",
  "stolen-login": "KeyBindingRequired",
};

let browser: Browser;
let wallet: Awaited<ReturnType<typeof openWallet>>;
let one: Phone;
const email = newEmail();
beforeAll(async () => {
  browser = await openBrowser();
  wallet = await openWallet(browser);
  ({ one } = wallet);
  await one.signUp(email);
  await one.tab("Attack");
});
afterAll(() => browser.close());

it("the page has no other attacks", async () => {
  const names = await one.screen
    .locator("[data-attack]")
    .evaluateAll((cards) =>
      cards.map((card) => (card as unknown as { dataset: Record<string, string> }).dataset.attack),
    );
  expect(names).toEqual(Object.keys(REASONS));
});

it.each(Object.entries(REASONS))("%s is refused: %s", async (name, reason) => {
  const card = one.screen.locator(`[data-attack=${name}]`);
  const popup = name === "unknown-key" ? wallet.context.waitForEvent("page") : undefined;
  await card.getByRole("button").click();
  if (popup) {
    const window = await popup;
    await window.locator("input[name=email]").fill(email);
    await Promise.all([window.waitForEvent("close"), window.locator("button").first().click()]);
  }
  await card.locator(".outcome .note").waitFor({ timeout: 30_000 });
  expect(await card.getAttribute("data-outcome")).toBe("refused");
  expect(await card.locator("code").textContent()).toBe(reason);
  // Its explanation in plain language, and beside the phone the lines that did it.
  expect((await card.locator(".outcome").textContent())?.length).toBeGreaterThan(reason.length + 40);
  const title = await card.locator("h3").textContent();
  expect(await wallet.page.locator("#code-title").textContent()).toBe(title);
});

it("the phone still works after all of them", async () => {
  expect(wallet.complaints).toEqual([]);
  await one.tab("Wallet");
  await one.press("Script");
  await one.press("Explain and review");
  await one.press("Sign");
  await one.see("The script has run");
});
