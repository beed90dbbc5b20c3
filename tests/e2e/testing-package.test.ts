import { resolve } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { sendTransaction } from "@countersign/client";
import {
  createPhone,
  flowAddressOf,
  logIn,
  networkOf,
  newEmail,
  readStack,
  secondPhone,
  signUp,
  TestNetwork,
} from "@countersign/testing";
import { expect, it } from "vitest";
import { NOTHING, stack as own } from "../support/person.ts";

const stack = readStack(resolve(root, own.stateDir, "stack.json"));

it("people, their phones, and answers that are lost: as a test of an app uses them", async () => {
  const network = new TestNetwork();
  const email = newEmail();
  const phone = createPhone(stack, { fetch: network.fetch });
  const { chainName } = networkOf(stack);
  network.loseAnswer({ method: "POST", path: "/auth/v1/signup", times: Number.POSITIVE_INFINITY });
  // The server has deployed the account, and the app does not know.
  await expect(signUp(stack, phone, await logIn(stack, email))).rejects.toThrow();
  expect(network.requests[0]).toEqual({ method: "POST", path: "/auth/v1/signup", outcome: "sent" });
  const { account } = await phone.client.signIn({ login: await logIn(stack, email), chainName });
  expect(flowAddressOf(account)).toMatch(/^[0-9a-f]{16}$/);

  const { result } = await sendTransaction(phone.client, { network: networkOf(stack), cadence: NOTHING });
  expect(result.status).toBe("Sealed");
  const second = await secondPhone(stack, { email, client: phone.client }, createPhone(stack));
  expect((await second.client.me()).id).toBe(account.id);

  network.goOffline();
  await expect(phone.client.devices()).rejects.toThrow("fetch failed");
  network.heal();
  expect((await phone.client.devices()).length).toBe(2);
});

it("a file that describes no stack is refused", () => {
  expect(() => readStack(resolve(root, "package.json"))).toThrow("describes no running stack");
});
