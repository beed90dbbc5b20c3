import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { access } from "../support/person.ts";
import { newEmail, openBrowser, openWallet, type Phone } from "./wallet.ts";

let browser: Browser;
let wallet: Awaited<ReturnType<typeof openWallet>>;
let one: Phone;
let two: Phone;
const email = newEmail();
beforeAll(async () => {
  browser = await openBrowser();
  wallet = await openWallet(browser);
  ({ one, two } = wallet);
  await one.signUp(email);
});
afterAll(async () => {
  expect(wallet.complaints).toEqual([]);
  await browser.close();
});

describe("one person with two phones", () => {
  it("gets test tokens, sends some, and sees the chain's transaction", async () => {
    await one.press("Receive");
    await one.press("Get 25 test tokens");
    await one.see("25 test tokens have arrived.");
    await one.press("Back");
    await expect.poll(() => one.balance(), { timeout: 20_000 }).toBeCloseTo(25.001);

    await one.press("Send");
    await one.press("Review");
    await one.see("Sends 1.5 FLOW to");
    await one.see("Paid by the service");
    await one.press("Sign");
    await one.see("1.5 FLOW sent");
    await one.press("View transaction");
    await one.see("FlowToken.TokensWithdrawn");
    await one.see("Sealed");
    await one.press("Back");
    // The paymaster has paid: nothing but the amount is missing.
    await expect.poll(() => one.balance(), { timeout: 20_000 }).toBeCloseTo(23.501);
    const onChain = await access.balance((await one.address()).slice(2));
    expect(Number(onChain) / 1e8).toBeCloseTo(23.501);
  });

  it("signs nothing that the person declines", async () => {
    await one.press("Send");
    await one.press("Review");
    await one.press("Decline");
    await one.screen.getByRole("dialog").waitFor({ state: "detached" });
    await one.press("Back");
    expect(await one.balance()).toBeCloseTo(23.501);
  });

  it("runs a custom script after its explanation, and shows why another one is refused", async () => {
    await one.press("Script");
    await one.press("Explain and review");
    await one.see("Runs this app's own script.");
    await one.press("Sign");
    await one.see("The script has run");
    await one.press("Done");

    await one.press("Script");
    await one.screen.getByLabel("Cadence").fill("transaction { prepare(account: auth(AddKey) &Account) {} }");
    await one.press("Explain and review");
    await one.press("Sign");
    await one.see("ForbiddenEntitlement");
    await one.press("Close");
    await one.press("Back");
  });

  it("rejects the second phone: the dialog closes, and that phone can ask again", async () => {
    await two.logIn("Continue with e-mail", email);
    await one.press("Reject");
    await one.screen.getByRole("dialog").waitFor({ state: "detached" });
    await one.screen.getByTestId("balance").waitFor();
    await two.screen.getByRole("alert").waitFor({ timeout: 30_000 });
  });

  it("enrolls the second phone with the matching code, and not with another one", async () => {
    await two.logIn("Sign in again", email);
    const shown = two.screen.locator("[data-matching-code]");
    const code = (await shown.getAttribute("data-matching-code")) ?? "";
    expect(code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
    const typed = one.screen.getByLabel("Code on the new phone");
    await typed.fill("00000000");
    await one.press("Approve");
    await one.see("The codes differ.");
    await typed.fill(code.toLowerCase());
    await one.press("Approve");
    await two.screen.getByTestId("balance").waitFor({ timeout: 30_000 });
    expect(await two.address()).toBe(await one.address());
  });

  it("shows live events on both phones, and registers for pushes", async () => {
    await one.tab("Activity");
    await one.see("two-factor.finished");
    await two.tab("Security");
    await two.screen.getByText("Push notifications").click();
    await two.screen.locator(".switch[data-selected]").waitFor();
    await one.see("device.updated");
  });

  it("freezes the account on one phone: the other one cannot sign until the freeze is lifted", async () => {
    await one.tab("Security");
    await one.press("Freeze account");
    await two.tab("Wallet");
    await two.see("The account is frozen");
    await two.press("Send");
    await two.press("Review");
    await two.press("Sign");
    await two.screen.getByRole("dialog").getByText("frozen").first().waitFor();
    await two.press("Close");
    await two.press("Back");
    await one.press("Unfreeze");
    await one.see(/Possible in \d+ s/);
    await one.see("Possible now");
    await one.press("Unfreeze");
    await one.screen.getByRole("button", { name: "Freeze account" }).waitFor({ timeout: 30_000 });
  });

  it("removes the second phone, and its key on chain", async () => {
    const address = (await two.address()).slice(2);
    await one.press("Remove");
    await one.see(/Removed/);
    await two.see(/The session has ended/);
    const revoked = async () => (await access.accountKeys(address)).filter((key) => key.revoked).length;
    await expect.poll(revoked, { timeout: 30_000 }).toBe(1);
  });
});
