import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newEmail, openBrowser, openWallet, type Phone } from "./wallet.ts";

let browser: Browser;
let wallet: Awaited<ReturnType<typeof openWallet>>;
let one: Phone;
beforeAll(async () => {
  browser = await openBrowser();
  wallet = await openWallet(browser);
  ({ one } = wallet);
  await one.signUp(newEmail());
});
afterAll(async () => {
  expect(wallet.complaints).toEqual([]);
  await browser.close();
});

describe("a signed-in phone", () => {
  it("leads from each step of the guide to its place, and shows the account's keys on chain", async () => {
    const { page } = wallet;
    const ask = (title: string) => page.locator(".guide button", { hasText: title }).click();
    const shown = (tab: string) => one.screen.getByRole("tab", { name: tab, selected: true }).waitFor();
    await page.locator(".guide").getByText("1 of 5").waitFor();
    await ask("Try an attack");
    await shown("Attack");
    await ask("Open an account");
    await shown("Wallet");
    await ask("Send test tokens");
    await one.screen.getByRole("button", { name: "Review" }).waitFor();
    await ask("Freeze the account");
    await shown("Security");
    const keys = one.screen.locator(".key-row");
    await keys.nth(1).waitFor();
    expect((await keys.allTextContents()).sort()).toEqual([
      expect.stringMatching(/^Phone.*weight 1$/),
      expect.stringMatching(/^Service.*weight 999$/),
    ]);
  });

  it("says when the events have no connection, and follows them again after it", async () => {
    const { page } = wallet;
    await page.route("**/device/v1/events", (route) => route.abort());
    await page.reload();
    await one.tab("Activity");
    const live = one.screen.locator(".live-dot");
    await live.getByText("No connection").waitFor();
    await page.unrouteAll();
    await live.getByText("Live", { exact: true }).waitFor();
  });

  it("says why nothing can be sent without a connection", async () => {
    await wallet.context.setOffline(true);
    await one.tab("Wallet");
    await one.press("Send");
    await one.press("Review");
    await one.screen.getByText("The service does not answer.").locator("visible=true").first().waitFor();
    await wallet.context.setOffline(false);
  });
});
