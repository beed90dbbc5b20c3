import { vi } from "vitest";
import { signUpPerson } from "../../support/person.ts";

export { network } from "../../support/person.ts";

// FCL's current user asks a page for its name and origin.
vi.stubGlobal("window", {
  location: { hostname: "localhost", origin: "http://localhost:5173" },
  addEventListener() {},
  removeEventListener() {},
  dispatchEvent: () => true,
});
// By name, because its types are Node's and the page is compiled with a browser's.
const fclCrypto: string = "../../e2e/fcl-crypto.ts";
const { deployFclCrypto } = await import(fclCrypto);
export const { fclCryptoContract } = await deployFclCrypto();
export const { client } = await signUpPerson();
export const nonceOfYourBackend = async (): Promise<string> => "75".repeat(32);
export const prints = [/sealed: [0-9a-f]{64}/, /Runs a script of the app/, /signed: true/, /owner: true/];
