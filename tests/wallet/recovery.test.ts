import type { Browser, Route } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newEmail, openBrowser, openWallet } from "./wallet.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

it("a person with a recovery key gets back into the account after the time lock", async () => {
  const email = newEmail();
  const { context, one, two, complaints } = await openWallet(browser);
  await one.signUp(email);
  const address = await one.address();
  await one.tab("Security");
  await one.press("Create a recovery key");
  await one.see("Adds a recovery key to your account.");
  await one.press("Sign");
  await one.press("Done");
  await one.see("A recovery key is on the account.");

  await two.press("I have lost all my phones");
  await two.logIn("Log in for the recovery key", email);
  await two.logIn("Log in for this phone", email);
  await two.see("The time lock has started.");
  // The other phone sees it, and could cancel it.
  await one.see("Add a phone by the recovery key");
  await two.see("Possible now");
  await two.logIn("Finish: log in and add this phone", email);
  await two.screen.getByTestId("balance").waitFor({ timeout: 30_000 });
  expect(await two.address()).toBe(address);
  expect(complaints).toEqual([]);
  await context.close();
});

it("a phone cancels the time lock of a recovery that its owner does not want", async () => {
  const email = newEmail();
  const { context, one, two, complaints } = await openWallet(browser);
  await one.signUp(email);
  await one.tab("Security");
  await one.press("Create a recovery key");
  await one.press("Sign");
  await one.press("Done");
  await two.press("I have lost all my phones");
  await two.logIn("Log in for the recovery key", email);
  await two.logIn("Log in for this phone", email);
  await one.see("Add a phone by the recovery key");
  await one.press("Decide later");
  await one.press("Cancel");
  await one.see("cancelled");
  await two.logIn("Finish: log in and add this phone", email);
  await two.see(/cancelled/i);
  expect(complaints).toEqual([]);
  await context.close();
});

it("an account becomes the child of the other phone's account, and leaves it again", async () => {
  const { context, page, one, two, complaints } = await openWallet(browser);
  // The first answer comes late: the account's event shows the parent before, and the link ends meanwhile.
  const release = Promise.withResolvers<void>();
  const late = async (route: Route) => {
    const response = await route.fetch();
    await release.promise;
    await route.fulfill({ response });
  };
  await page.route("**/account/v1/parent", late, { times: 1 });
  await one.signUp(newEmail());
  await two.signUp(newEmail());
  const parent = await two.address();
  const sign = async (phone: typeof one, name: string) => {
    await phone.press(name);
    await phone.press("Sign");
    await phone.press("Done");
  };
  await one.tab("Security");
  await two.tab("Security");
  await sign(one, "Offer the link");
  await sign(two, "Accept a child");
  await one.press("Read it from the chain");
  await one.see(`Child of ${parent}`);
  await sign(one, "End the link");
  await one.press("Read it from the chain");
  release.resolve();
  await one.see("No parent");
  expect(complaints).toEqual([]);
  await context.close();
});
