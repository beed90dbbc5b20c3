import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openBrowser, openWallet } from "./wallet.ts";

/**
 * The README's pictures are made again where the variable is set; otherwise they go where nobody looks, so
 * that a run changes no file of the repository.
 */
const folder = join(
  import.meta.dirname,
  "../..",
  process.env.CS_WRITE_SCREENSHOTS ? "docs/images" : ".local/screenshots",
);
/** Of both pictures together, which the repository keeps. */
const MAX_BYTES = 300_000;

let browser: Browser;
beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  browser = await openBrowser();
});
afterAll(() => browser.close());

const path = (name: string) => join(folder, `wallet-${name}.png`);

/** Opens an account on the first phone, and leaves the second one at the code of its enrollment. */
async function openTwoPhones(colorScheme: "light" | "dark", email: string) {
  const wallet = await openWallet(browser, { width: 1440, height: 920, colorScheme });
  const { one, two } = wallet;
  await one.signUp(email);
  await one.press("Receive");
  await one.press("Get 25 test tokens");
  await one.see("25 test tokens have arrived.");
  await one.press("Back");
  await two.logIn("Continue with e-mail", email);
  const code = (await two.screen.locator("[data-matching-code]").getAttribute("data-matching-code")) ?? "";
  await one.screen.getByLabel("Code on the new phone").fill(code);
  return wallet;
}

it("two phones on a wide screen", async () => {
  const { context, page } = await openTwoPhones("light", "ada@example.com");
  await page.evaluate("scrollTo(0, 0)");
  await page.screenshot({ path: path("wide") });
  await context.close();
});

it("one phone on a narrow screen, dark", async () => {
  const { context, page, one, two } = await openTwoPhones("dark", "grace@example.com");
  await one.press("Approve");
  await two.screen.getByTestId("balance").waitFor({ timeout: 30_000 });
  await page.setViewportSize({ width: 360, height: 780 });
  await one.press("Send");
  await one.press("Review");
  await one.screen.getByRole("dialog").waitFor();
  await one.screen.screenshot({ path: path("narrow") });
  const sizes = ["wide", "narrow"].map((name) => statSync(path(name)).size);
  expect(sizes[0]! + sizes[1]!).toBeLessThan(MAX_BYTES);
  await context.close();
});
