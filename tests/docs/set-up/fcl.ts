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
export const { client } = await signUpPerson();
export const prints = [/sealed: [0-9a-f]{64}/, /Runs a script of the app/];
