import { systemClock, uuidv7 } from "@countersign/core";
import { beforeAll, describe, expect, it } from "vitest";
import { type AdminName, asAdmin, reason } from "../support/admin.ts";
import { stack } from "../support/person.ts";
import { asSuperuser, drain } from "./administrators.ts";
import { afterwards, newVictim, type Victim } from "./attacker.ts";
import { query } from "./token-forge.ts";

let victim: Victim;
beforeAll(async () => {
  victim = await newVictim();
});

describe("two persons", () => {
  const hold = () => asAdmin(stack, "ada", ({ auth }) => auth.holdAccount({ reason, accountId: victim.accountId }));
  const askToLift = (person: AdminName, seenAlertId: string) =>
    asAdmin(stack, person, async ({ auth }) => {
      const { outcome } = await auth.liftHolds({ reason, accountId: victim.accountId, seenAlertId });
      return outcome!;
    });
  const decide = (person: AdminName, requestId: string, approve = true, { accountId } = victim) =>
    asAdmin(stack, person, async ({ auth }) => {
      const { outcome } = await auth.decideRequest({ reason, requestId, accountId, approve });
      return outcome!;
    });
  const isHeld = async () => {
    const rows = await query("auth", "SELECT 1 FROM account_hold WHERE account_id = $1 AND lifted_at IS NULL", [
      victim.accountId,
    ]);
    return rows.length > 0;
  };

  it("freezing needs one; unfreezing has no effect until another one approves", async () => {
    const { outcome } = await hold();
    expect(outcome).toMatchObject({ outcome: "done" });
    expect(await isHeld()).toBe(true);
    const asked = await askToLift("ada", outcome!.actionId);
    expect(asked.outcome).toBe("requested");
    expect(await isHeld()).toBe(true);
    await expect(decide("ada", asked.actionId)).rejects.toMatchObject({ reason: "SecondPersonRequired" });
    expect(await isHeld()).toBe(true);
    expect((await decide("grace", asked.actionId)).details).toEqual([expect.stringContaining("lifted")]);
    expect(await isHeld()).toBe(false);
    await expect(decide("grace", asked.actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
  });

  it("an approval that names another account, or none, does nothing", async () => {
    const asked = await askToLift("ada", (await hold()).outcome!.actionId);
    for (const accountId of [uuidv7(systemClock), ""]) {
      const approval = decide("grace", asked.actionId, true, { ...victim, accountId });
      await expect(approval).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
    }
    expect(await isHeld()).toBe(true);
  });

  it("of many approvals at once one acts", async () => {
    const { actionId } = (await hold()).outcome!;
    const asked = await askToLift("ada", actionId);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => decide("grace", asked.actionId)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const decisions = "SELECT outcome FROM admin_action WHERE request_id = $1";
    expect(await query("auth", decisions, [asked.actionId])).toEqual([{ outcome: "approved" }]);
  });

  it("a request that was rejected, also by its own person, is never approved", async () => {
    const { actionId } = (await hold()).outcome!;
    const asked = await askToLift("ada", actionId);
    await decide("ada", asked.actionId, false);
    await expect(decide("grace", asked.actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
    expect(await isHeld()).toBe(true);
  });

  it("a request ends after 24 hours", async () => {
    const asked = await askToLift("ada", uuidv7(systemClock));
    await asSuperuser(
      "auth",
      `UPDATE admin_action SET at = now() - interval '24 hours' WHERE id = '${asked.actionId}'`,
    );
    await expect(decide("grace", asked.actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
    expect(await isHeld()).toBe(true);
  });

  it("no action but a request can be approved", async () => {
    const { actionId } = (await hold()).outcome!;
    await expect(decide("grace", actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
    const [last] = await query<{ alert_id: string }>(
      "auth",
      "SELECT alert_id FROM account_hold WHERE lifted_at IS NULL ORDER BY placed_at DESC",
    );
    await decide("grace", (await askToLift("ada", last!.alert_id)).actionId);
    expect(await isHeld()).toBe(false);
  });
});

// The signer's own tests have approvals that remove something: here other files compare all records.
describe("two persons and the audit log", () => {
  const file = { sequence: 1n, sha256: "ab".repeat(32) };
  const ask = (person: AdminName) =>
    asAdmin(stack, person, async ({ signer }) => {
      for await (const { requestId } of signer.removeAudit({ reason, ...file })) return requestId;
      throw new Error("the signer did not ask for another person");
    });
  const decide = (person: AdminName, requestId: string, { approve = true, sha256 = file.sha256 } = {}) =>
    asAdmin(stack, person, ({ signer }) => drain(signer.decideRequest({ reason, requestId, approve, sha256 })));
  const log = () => query("signer", "SELECT sequence FROM audit_checkpoint ORDER BY sequence LIMIT 1");
  const notFound = { reason: "AdminRequestNotFound" };

  it("one person removes nothing, and does not approve the own request", async () => {
    const before = await log();
    const requestId = await ask("ada");
    await expect(decide("ada", requestId)).rejects.toMatchObject({ reason: "SecondPersonRequired" });
    expect(await log()).toEqual(before);
    expect(await query("signer", "SELECT 1 FROM audit_archive")).toEqual([]);
    const recorded = "SELECT person, command, outcome FROM admin_action WHERE id >= $1 ORDER BY id";
    expect(await query("signer", recorded, [requestId])).toEqual([
      { person: "ada", command: "audit remove", outcome: "requested" },
      { person: "ada", command: "requests approve", outcome: "SecondPersonRequired" },
    ]);
  });

  it("an approval that names another file, or none, or asks another service, does nothing", async () => {
    const requestId = await ask("ada");
    for (const sha256 of ["cd".repeat(32), ""])
      await expect(decide("grace", requestId, { sha256 })).rejects.toMatchObject(notFound);
    const elsewhere = asAdmin(stack, "grace", ({ auth }) =>
      auth.decideRequest({ reason, requestId, accountId: "", approve: true }),
    );
    await expect(elsewhere).rejects.toMatchObject(notFound);
    const { requests } = await asAdmin(stack, "grace", ({ signer }) => signer.listRequests({ reason }));
    expect(requests.map(({ id }) => id)).toContain(requestId);
  });

  it("an approval removes nothing that the database does not have", async () => {
    await expect(decide("grace", await ask("ada"))).rejects.toMatchObject({ reason: "InvalidRequest" });
    expect(await query("signer", "SELECT 1 FROM audit_archive")).toEqual([]);
  });

  it("a request that was rejected, or is older than 24 hours, is never approved", async () => {
    const rejected = await ask("ada");
    await decide("ada", rejected, { approve: false, sha256: "" });
    const old = await ask("ada");
    await asSuperuser("signer", `UPDATE admin_action SET at = now() - interval '24 hours' WHERE id = '${old}'`);
    for (const requestId of [rejected, old]) await expect(decide("grace", requestId)).rejects.toMatchObject(notFound);
  });
});

afterwards();
