import { connect } from "node:net";
import { createAccessApi } from "@countersign/flow";
import { beforeAll, describe, expect, it } from "vitest";
import { chain, chainName, newEmail, stack } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, attackerPhone, idTokenOf, newVictim, remember, type Victim } from "./attacker.ts";
import { mintAccessToken, query } from "./token-forge.ts";

let victim: Victim;
beforeAll(async () => {
  victim = await newVictim();
});

const TWENTY = Array.from({ length: 20 }, (_, index) => index);

describe("concurrent requests", () => {
  it("one of twenty keys of one identity gets the account, and one account is deployed", async () => {
    const { idToken } = await idTokenOf(newEmail());
    const phones = TWENTY.map(() => attackerPhone());
    const answers = await Promise.all(
      phones.map(({ deviceKey }) =>
        send({
          method: "POST",
          path: "/auth/v1/signup",
          body: {
            method: "id_token_channel",
            token: idToken,
            chainName,
            userKey: { type: "device", publicKey: deviceKey.publicKey, device: {} },
          },
        }),
      ),
    );
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 200) expectProblem(answer, 409, "AccountExists");
    remember(good[0]!.body);
    const { id, addresses } = good[0]!.body.account;
    const keys = phones.map(({ deviceKey }) => deviceKey.publicKey);
    const rows = await query<{ account_id: string }>(
      "auth",
      "SELECT account_id FROM sign_up WHERE account_key = ANY($1)",
      [keys],
    );
    expect(rows).toEqual([{ account_id: id }]);
    const winner = keys[answers.indexOf(good[0]!)]!;
    const address = addresses.find((each: { chainType: string }) => each.chainType === "cadence").address.slice(2);
    const onChain = await createAccessApi({ baseUrl: chain.accessNode }).accountKeys(address);
    expect(onChain).toHaveLength(2);
    expect(onChain[1]!.publicKey).toBe(winner);
  });

  it("twenty changes of a device leave exactly one of them, complete", async () => {
    const token = await mintAccessToken(victim);
    const path = `/device/v1/devices/${victim.deviceKey.publicKey}`;
    const answers = await Promise.all(
      TWENTY.map((i) => send({ method: "PUT", path, token, body: { name: `name ${i}`, lang: `lang ${i}` } })),
    );
    for (const answer of answers) expect(answer.status, answer.text).toBe(200);
    const [device] = (await send({ method: "GET", path: "/device/v1/devices", token })).body.devices;
    expect(device.name.replace("name ", "")).toBe(device.lang.replace("lang ", ""));
  });

  it("a concurrent sign-out and refresh leave no session", async () => {
    const login = { method: "id_token_channel", token: victim.idToken } as const;
    const signedIn = await victim.client.signIn({ login, chainName });
    remember(signedIn);
    const { accessToken, refreshToken } = signedIn.credentials;
    const body = { refreshToken };
    const answers = await Promise.all(
      TWENTY.map((i) =>
        i % 4 === 0
          ? send({ method: "POST", path: "/auth/v1/signout", token: accessToken })
          : send({ method: "POST", path: "/auth/v1/token/refresh", body }),
      ),
    );
    const refreshed = answers.filter(({ status }) => status === 200);
    for (const answer of refreshed) remember(answer.body);
    for (const answer of answers) if (answer.status >= 300) expectProblem(answer, 401);
    for (const token of [accessToken, ...refreshed.map(({ body }) => body.credentials.accessToken as string)]) {
      const status = async () => (await send({ method: "GET", path: "/account/v1/me", token })).status;
      await expect.poll(status, { timeout: 2_000, interval: 50 }).toBe(401);
    }
    for (const token of [refreshToken, ...refreshed.map(({ body }) => body.credentials.refreshToken as string)]) {
      const again = await send({ method: "POST", path: "/auth/v1/token/refresh", body: { refreshToken: token } });
      expectProblem(again, 401, "SessionEnded");
    }
  });

  it("the same payload twenty times is recorded twenty times", async () => {
    const body = { message: "00".repeat(64) };
    const token = await mintAccessToken(victim);
    const path = "/sign/v1/cadence/transaction";
    const answers = await Promise.all(TWENTY.map(() => send({ method: "POST", path, token, body })));
    for (const answer of answers) expectProblem(answer, 400, "InvalidMessage");
    const rows = await query("signer", "SELECT verdict FROM audit_record WHERE account_id = $1", [victim.accountId]);
    expect(rows).toEqual(TWENTY.map(() => ({ verdict: "InvalidMessage" })));
  });
});

describe("ports that are not for clients", () => {
  const ports = Object.entries(stack.processes).flatMap(([name, { grpc, metrics }]) => [
    ...(grpc ? [[`${name}, gRPC`, Number(grpc.split(":").at(-1))] as const] : []),
    ...(metrics ? [[`${name}, metrics`, Number(new URL(metrics).port)] as const] : []),
  ]);
  const GARBAGE = [
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "\x00".repeat(70_000),
    "\xff".repeat(1_000),
    "",
  ];

  it.each(ports)("%s survives invalid bytes", async (_, port) => {
    await Promise.all(
      GARBAGE.map(
        (text) =>
          new Promise<void>((resolve) => {
            const socket = connect({ port, host: "127.0.0.1" });
            socket.on("error", () => resolve()).on("close", () => resolve());
            socket.on("connect", () => socket.write(Buffer.from(text, "latin1")));
            setTimeout(() => socket.destroy(), 300);
          }),
      ),
    );
  });

  it("metrics and health contain no secret and accept no other verb", async () => {
    for (const [name, { metrics }] of Object.entries(stack.processes)) {
      if (!metrics) continue;
      const text = await (await fetch(metrics)).text();
      expect(text, name).not.toMatch(/eyJ|@example\.com|password|passphrase|postgres:\/\//i);
      expect(text, name).not.toContain(victim.accountId);
      expect((await fetch(metrics, { method: "POST", body: "x" })).status, name).toBeGreaterThanOrEqual(400);
    }
  });
});

afterwards();
