import { sendTransaction } from "@countersign/client";
import { freePort } from "@countersign/local-stack/ports.ts";
import { describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { countersign, reason } from "../support/admin.ts";
import {
  chainName,
  logIn,
  NOTHING,
  network,
  newPhone,
  pollOptions,
  problemOf,
  signUpPerson,
  stack,
} from "../support/person.ts";
import { json, newSigner, rowsOf } from "./administrator.ts";

const { person, accountId } = await newSigner();

describe("access", () => {
  it("a freeze stops signing until two persons have lifted it", async () => {
    const signs = () =>
      sendTransaction(person.client, { network, cadence: NOTHING }).then(
        () => "signed",
        ({ error }) => error,
      );
    const frozen = await json("ada", "accounts", "freeze", accountId);
    await expect.poll(signs, pollOptions).toBe("AccountFrozen");
    const holds = await json("grace", "accounts", "holds", accountId);
    expect(holds).toMatchObject([{ alertId: frozen.actionId, eventType: "administrator" }]);
    const asked = await json("ada", "accounts", "unfreeze", accountId, "--seen", frozen.actionId);
    expect(asked.outcome).toBe("requested");
    const requests = await json("grace", "requests", "list");
    const shown = await countersign(stack, "grace", "requests", "list");
    expect(shown.stdout).toContain(
      `accounts unfreeze ${accountId} {"seen": "${frozen.actionId}"}`.replace('": "', '":"'),
    );
    expect(shown.stdout).toContain(`reason: ${reason}`);
    expect(requests).toContainEqual(expect.objectContaining({ id: asked.actionId, person: "ada", reason }));
    const named = ["--account", accountId];
    expect(await countersign(stack, "ada", "requests", "approve", asked.actionId, ...named)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("SecondPersonRequired"),
    });
    const [refused] = (await json("grace", "actions", "list", "--service", "auth")).slice(1);
    expect(refused).toMatchObject({ command: "requests approve", person: "ada", outcome: "SecondPersonRequired" });
    expect((await json("grace", "requests", "approve", asked.actionId, ...named)).outcome).toBe("done");
    const open = await json("grace", "requests", "list");
    expect(open.map(({ id }: { id: string }) => id)).not.toContain(asked.actionId);
    await expect.poll(signs, pollOptions).toBe("signed");
    const actions = await json("grace", "actions", "list", "--account", accountId, "--service", "auth");
    expect(actions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ command: "accounts unfreeze", person: "ada", outcome: "requested" }),
        expect.objectContaining({ command: "accounts unfreeze", person: "grace", outcome: "approved" }),
      ]),
    );
  });

  it("a request is listed and rejected while the signer does not answer", async () => {
    const other = (await newSigner()).accountId;
    const frozen = await json("ada", "accounts", "freeze", other);
    const asked = await json("ada", "accounts", "unfreeze", other, "--seen", frozen.actionId);
    const signer = { ...stack.processes.signer!, grpc: `127.0.0.1:${await freePort()}` };
    const withoutSigner = { ...stack, processes: { ...stack.processes, signer } };
    const listed = await countersign(withoutSigner, "grace", "requests", "list");
    expect(listed).toMatchObject({ code: 2, stderr: expect.stringContaining("Unavailable") });
    expect(listed.stdout).toContain(`request ${asked.actionId}`);
    expect(await countersign(withoutSigner, "grace", "requests", "reject", asked.actionId)).toMatchObject({ code: 0 });
    expect(await countersign(stack, "grace", "requests", "reject", asked.actionId)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("AdminRequestNotFound"),
    });
  });

  it("ended sessions are over at once, and the person signs in again", async () => {
    const { client } = person;
    await client.signIn({ login: await logIn(person.email), chainName });
    const { details } = await json("ada", "accounts", "end-sessions", accountId);
    expect(details[0]).toMatch(/^[1-9]\d* sessions ended$/);
    await expect
      .poll(() => problemOf(client.me()).then(({ error }) => error, String), pollOptions)
      .toBe("SessionEnded");
    await client.signIn({ login: await logIn(person.email), chainName });
    expect((await client.me()).id).toBe(accountId);
  });

  it("an account that does not exist is no account to freeze; the refusal is on record", async () => {
    const nobody = crypto.randomUUID();
    expect(await countersign(stack, "ada", "accounts", "freeze", nobody)).toMatchObject({ code: 2 });
    const actions = await json("ada", "actions", "list", "--account", nobody);
    expect(actions).toContainEqual(
      expect.objectContaining({ service: "auth", command: "accounts freeze", outcome: "AccountNotFound" }),
    );
  });
});

describe("sagas", () => {
  it("an unfinished sign-up is resumed; what is on chain is not cancelled", async () => {
    const other = await signUpPerson();
    const { id } = other.signedUp.account;
    const unfinished = `UPDATE sign_up SET completed_at = NULL, device_registered_at = NULL, lease_until = '9999-01-01'
      WHERE account_id = $1`;
    await query("auth", unfinished, [id]);
    expect(await countersign(stack, "ada", "sign-ups", "cancel", id, "--chain", chainName)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("SignUpOnChain"),
    });
    expect(await countersign(stack, "ada", "person", "erase", id)).toMatchObject({ code: 0 });
    const { details } = await json("ada", "sign-ups", "resume", id, "--chain", chainName);
    expect(details).toEqual(["deployment: deployed"]);
    expect(await query("auth", "SELECT 1 FROM sign_up WHERE account_id = $1 AND completed_at IS NULL", [id])).toEqual(
      [],
    );
    expect(await countersign(stack, "ada", "sign-ups", "resume", id, "--chain", chainName)).toMatchObject({
      stderr: expect.stringContaining("SignUpNotFound"),
    });
    expect((await other.client.me()).id).toBe(id);
  });

  it("a sign-up that the chain refused is cancelled for good, and the person signs up again", async () => {
    const first = await signUpPerson();
    const old = first.signedUp.account.id;
    // As after a creation that failed alone: nothing is on chain.
    await query(
      "auth",
      "UPDATE sign_up SET completed_at = NULL, deployed_at = NULL, lease_until = '9999-01-01' WHERE account_id = $1",
      [old],
    );
    await query("account", "UPDATE deployment SET state = 'failed' WHERE account_id = $1", [old]);
    const { details } = await json("ada", "sign-ups", "cancel", old, "--chain", chainName);
    expect(details).toEqual(["cancelled; the person may sign up again"]);
    expect(await query("account", "SELECT state FROM deployment WHERE account_id = $1", [old])).toEqual([
      { state: "cancelled" },
    ]);
    expect(await rowsOf(old, "auth", "identity")).toBe(0);
    const { client } = newPhone();
    const again = await client.signUp({ login: await logIn(first.email), chainName });
    expect(again.account.id).not.toBe(old);
  });

  it("a request of a new device is rejected, and resumed only while its outcome is unknown", async () => {
    const { client } = newPhone();
    const device = { name: "New phone", osName: "iOS", type: "mobile" } as const;
    const asked = await client.requestTwoFactor({ login: await logIn(person.email), chainName, device });
    const { id } = asked.twoFactorAuth;
    expect(await countersign(stack, "ada", "key-additions", "resume", accountId, id)).toMatchObject({
      stderr: expect.stringContaining("TwoFactorAuthNotPending"),
    });
    expect(await json("ada", "key-additions", "cancel", accountId, id)).toMatchObject({ status: "rejected" });
    expect((await person.client.twoFactor(id)).status).toBe("rejected");
    expect(await countersign(stack, "ada", "key-additions", "cancel", accountId, id)).toMatchObject({
      stderr: expect.stringContaining("TwoFactorAuthNotPending"),
    });
  });

  it("a rotation that is not there is not resumed", async () => {
    expect(await countersign(stack, "ada", "rotations", "resume", accountId, "--chain", chainName)).toMatchObject({
      stderr: expect.stringContaining("RotationNotFound"),
    });
  });
});
