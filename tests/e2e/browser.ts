import type { PasskeyCredentials } from "@countersign/client";
import { findChromium } from "@countersign/local-stack/chromium.ts";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

/** Chromium, as `npm test` finds or installs it, with further switches; without one the tests fail. */
export async function openBrowser(switches: readonly string[] = []): Promise<Browser> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("Chromium is missing: `npm test` installs it, see docs/local-stack.md");
  // Tests in containers run as root, where Chromium has no sandbox; it sees nothing but our own empty pages.
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...switches] });
}

/** The code that the page runs; bytes are passed as arrays of numbers. */
const CREATE = `async (options) => {
  const bytes = (list) => Uint8Array.from(list);
  const created = await navigator.credentials.create({ publicKey: {
    ...options, challenge: bytes(options.challenge), user: { ...options.user, id: bytes(options.user.id) },
  } });
  return { rawId: [...new Uint8Array(created.rawId)], publicKey: [...new Uint8Array(created.response.getPublicKey())] };
}`;
const GET = `async (options) => {
  const bytes = (list) => Uint8Array.from(list);
  const allowCredentials = options.allowCredentials.map((each) => ({ ...each, id: bytes(each.id) }));
  const { response } = await navigator.credentials.get({
    publicKey: { ...options, challenge: bytes(options.challenge), allowCredentials },
  });
  const list = (buffer) => [...new Uint8Array(buffer)];
  return {
    clientDataJSON: list(response.clientDataJSON),
    authenticatorData: list(response.authenticatorData),
    signature: list(response.signature),
  };
}`;

type Numbers = number[];

/** A credential with its private key, as only a virtual authenticator gives it out. */
interface ExportedCredential {
  credentialId: string;
  isResidentCredential: boolean;
  rpId?: string;
  privateKey: string;
  userHandle?: string;
  signCount: number;
}

/** How an authenticator misbehaves; members that are absent are correct. */
export interface Misbehaviour {
  isBogusSignature?: boolean;
  isBadUV?: boolean;
  isBadUP?: boolean;
}

const BEHAVING: Misbehaviour = { isBogusSignature: false, isBadUV: false, isBadUP: false };

/** Adds an authenticator to a page that verifies its person without a touch. */
export async function addAuthenticator(
  context: BrowserContext,
  page: Page,
  transport: "internal" | "usb" = "internal",
) {
  const devTools = await context.newCDPSession(page);
  await devTools.send("WebAuthn.enable", { enableUI: false });
  const { authenticatorId } = await devTools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      ctap2Version: "ctap2_1",
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devTools, authenticatorId };
}

/**
 * Opens a page of `origin` in a new browser with a virtual authenticator: the credentials are the browser's
 * own, and only its key store is in memory. Origins need no server.
 */
export async function openPage(browser: Browser, origin: string) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route(`${origin}/**`, (route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html><title>A wallet</title>" }),
  );
  await page.goto(`${origin}/wallet`);
  const { devTools, authenticatorId } = await addAuthenticator(context, page);

  const plain = (value: unknown): unknown =>
    value instanceof Uint8Array
      ? [...value]
      : Array.isArray(value)
        ? value.map(plain)
        : value !== null && typeof value === "object"
          ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
          : value;
  const run = <T>(script: string, options: object): Promise<T> =>
    page.evaluate<T>(`(${script})(${JSON.stringify(plain(options))})`);

  return {
    origin,
    /** Replaces the page's `navigator.credentials`; `changes` replace options of an assertion. */
    credentials: (changes: object = {}): PasskeyCredentials => ({
      async create({ publicKey: options }) {
        const { rawId, publicKey } = await run<{ rawId: Numbers; publicKey: Numbers }>(CREATE, options);
        return { rawId: Uint8Array.from(rawId), response: { getPublicKey: () => Uint8Array.from(publicKey) } };
      },
      async get({ publicKey: options }) {
        const given = await run<Record<string, Numbers>>(GET, { ...options, ...changes });
        const response = Object.entries(given).map(([name, bytes]) => [name, Uint8Array.from(bytes)]);
        return { response: Object.fromEntries(response) };
      },
    }),
    /** Whether the person can be recognised from now on. */
    verifyUser: (isUserVerified: boolean) =>
      devTools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    misbehave: (how: Misbehaviour) =>
      devTools.send("WebAuthn.setResponseOverrideBits", { authenticatorId, ...BEHAVING, ...how }),
    /** The credential with its private key. */
    async exportCredential(): Promise<ExportedCredential> {
      const { credentials } = await devTools.send("WebAuthn.getCredentials", { authenticatorId });
      if (credentials.length !== 1) throw new Error(`the authenticator has ${credentials.length} credentials`);
      return credentials[0]!;
    },
    /** Puts a copy into this authenticator. */
    importCredential: (credential: ExportedCredential) =>
      devTools.send("WebAuthn.addCredential", { authenticatorId, credential }),
    close: () => context.close(),
  };
}

export type BrowserPage = Awaited<ReturnType<typeof openPage>>;
