import { randomUUID } from "node:crypto";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { addAuthenticator, openBrowser } from "../e2e/browser.ts";
import { stack } from "../support/person.ts";

export const newEmail = (): string => `ada-${randomUUID().slice(0, 8)}@example.com`;

/** How a person looks at the page. */
export interface View {
  width?: number;
  height?: number;
  colorScheme?: "light" | "dark";
  locale?: string;
}

/** One phone of the page. */
export interface Phone {
  readonly screen: Locator;
  /** Presses the button of this name. */
  press(name: string): Promise<void>;
  tab(name: string): Promise<void>;
  /** Waits for a text. */
  see(text: string | RegExp): Promise<void>;
  /** Presses a button that opens the provider's window, and logs in there. */
  logIn(button: string, email: string): Promise<void>;
  /** Opens an account with a key of this kind. */
  signUp(email: string, kind?: "In the phone" | "Passkey"): Promise<void>;
  balance(): Promise<number>;
  /** The account's address, once the phone shows it. */
  address(): Promise<string>;
}

const WAIT_MS = 30_000;

function phoneOf(context: BrowserContext, page: Page, id: "one" | "two"): Phone {
  const screen = page.locator(`[data-phone=${id}]`);
  const button = (name: string) => screen.getByRole("button", { name, exact: true });
  const address = screen.locator('.balance-card .copyable[title^="0x"]').filter({ hasText: /^0x[0-9a-f]{16}/ });
  const phone: Phone = {
    screen,
    address: async () => (await address.first().getAttribute("title", { timeout: WAIT_MS })) ?? "",
    press: (name) => button(name).click({ timeout: WAIT_MS }),
    tab: (name) => screen.getByRole("tab", { name }).click(),
    see: (text) => screen.getByText(text).first().waitFor({ timeout: WAIT_MS }),
    async logIn(name, email) {
      const [popup] = await Promise.all([context.waitForEvent("page"), button(name).click()]).catch(async (cause) => {
        throw new Error(`${name}: no window; the phone shows ${await screen.innerText()}`, { cause });
      });
      await popup.locator("input[name=email]").fill(email);
      const closed = popup.waitForEvent("close", { timeout: WAIT_MS });
      await popup.locator("button").first().click();
      // The first login of a person asks whether the wallet may know the address.
      const allow = popup.locator("form[action$=confirm] button");
      await Promise.race([allow.click({ timeout: WAIT_MS }).catch(() => undefined), closed]);
      await closed;
    },
    async signUp(email, kind = "In the phone") {
      await screen.locator(".key-kind", { hasText: kind }).click();
      await phone.logIn("Continue with e-mail", email);
      await screen.getByTestId("balance").waitFor({ timeout: WAIT_MS });
    },
    balance: async () =>
      Number.parseFloat(((await screen.getByTestId("balance").textContent()) ?? "").replace(",", ".")),
  };
  return phone;
}

/** The page in a browser of its own, with an authenticator; `complaints` are errors of the page. */
export async function openWallet(browser: Browser, { width = 1440, height = 900, ...view }: View = {}) {
  const { webWallet } = stack;
  if (webWallet === undefined) throw new Error("the stack serves no wallet: run `npm run test:wallet`");
  const options = { viewport: { width, height }, locale: "en-US", reducedMotion: "reduce" as const, ...view };
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  const { devTools, authenticatorId } = await addAuthenticator(context, page);
  /** From now on the person does not let a passkey be used. */
  const refusePasskeys = () => devTools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
  await page.goto(webWallet);
  await page.locator("h1").waitFor();
  const [one, two] = [phoneOf(context, page, "one"), phoneOf(context, page, "two")];
  return { context, page, one, two, complaints, refusePasskeys };
}

export { openBrowser };
