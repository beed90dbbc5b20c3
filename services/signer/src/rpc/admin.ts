import { type ActionLog, administrator, requestsHandler } from "@countersign/admin-actions";
import { type AdminCommand, type Administrator, sleepUntil } from "@countersign/core";
import type { AdminService, AuditResult } from "@countersign/proto/signer/v1/admin.ts";
import { type Handlers, parseRequest, uuidField } from "@countersign/rpc";
import { z } from "zod";
import { checkPolicy } from "../domain/admin/check-policy.ts";
import { auditReading, type ReadAuditOptions, type VerifiedSoFar } from "../domain/admin/read-audit.ts";
import { REMOVE_COMMAND } from "../domain/admin/remove-audit.ts";
import type { Commands } from "../domain/commands.ts";
import type { PolicySource } from "../policy/policy.ts";

export interface AdminOptions extends Omit<ReadAuditOptions, "pause"> {
  readonly actions: ActionLog;
  readonly policies: PolicySource;
  readonly explain: Commands["explain"];
}

const MAX_POLICY_CHARS = 1_000_000;
const MAX_MESSAGE_BYTES = 65_536;
const MAX_PROBLEMS = 100;

const policy = z.object({ policyJson: z.string().max(MAX_POLICY_CHARS, "is too long") });
const message = z.object({
  message: z.custom<Uint8Array>(
    (bytes) => bytes instanceof Uint8Array && bytes.length <= MAX_MESSAGE_BYTES,
    "is too long",
  ),
  chainName: z.string().max(64),
});

/** Of `countersign audit archive`: a moment, or nothing for all. */
const exported = z.object({ before: z.union([z.literal(""), z.iso.datetime({ offset: true })]) });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "is no SHA-256 in hex");
const archive = z.object({
  sequence: z.bigint().positive().max(BigInt(Number.MAX_SAFE_INTEGER)).transform(Number),
  sha256,
});
const decision = z.object({ requestId: uuidField, approve: z.boolean(), sha256: z.union([z.literal(""), sha256]) });

const toResult = (report: NonNullable<VerifiedSoFar["report"]>) =>
  ({
    problems: report.problems.slice(0, MAX_PROBLEMS),
    records: BigInt(report.records),
    chains: BigInt(report.chains),
    checkpoints: BigInt(report.checkpoints),
    uncovered: BigInt(report.uncovered),
    until: report.until?.toISOString() ?? "",
    losses: report.losses.slice(0, MAX_PROBLEMS).map(({ chainId, first, last, statement }) => {
      const { sequence, time, by, reason } = statement;
      const stated = `checkpoint ${sequence} states at ${time.toISOString()} that the database was restored`;
      return `records ${first} to ${last} of chain ${chainId}: ${stated}, by ${by}: ${reason}`;
    }),
    archived: report.archived,
  }) satisfies AuditResult;

/** Handles signer.v1.Admin. */
export function signerAdminHandlers(options: AdminOptions): Handlers<AdminService> {
  const { actions, explain } = options;
  const check = checkPolicy(options);
  const { exportAudit, verifyAudit, removeAudit, decideRequest } = auditReading({
    ...options,
    pause: (ms, signal) => sleepUntil(ms, [signal]),
  });

  /** Gives on what an act yields, which records itself; records its refusal. */
  async function* acting<T>(by: Administrator, action: AdminCommand, work: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* work;
    } catch (error) {
      await actions.act(by, action, () => Promise.reject(error));
    }
  }
  return {
    async checkPolicy(request, call) {
      const by = administrator(call, "policy check", request);
      const { policyJson } = parseRequest(policy, request);
      await actions.read(by, { command: "policy check" });
      const { current, changes, ...checked } = check(policyJson);
      return { ...checked, current: [...current], changes: [...changes] };
    },

    async explainMessage(request, call) {
      const by = administrator(call, "policy explain", request);
      const { message: bytes, chainName } = parseRequest(message, request);
      await actions.read(by, { command: "policy explain", arguments: { chainName } });
      const { kind, refusalReason, detail } = await explain(bytes, chainName);
      return { kind, refusalReason, detail };
    },

    async *exportAudit(request, call) {
      const by = administrator(call, "audit export", request);
      const { before } = parseRequest(exported, request);
      const action = before ? { command: "audit archive", arguments: { before } } : { command: "audit export" };
      await actions.read(by, action);
      for await (const lines of exportAudit(before ? new Date(before) : undefined)) yield { lines };
    },

    async *verifyAudit(request, call) {
      const by = administrator(call, "audit verify", request);
      await actions.read(by, { command: "audit verify" });
      for await (const { lines, report } of verifyAudit(call.signal))
        yield { lines, result: report && toResult(report) };
    },

    async *removeAudit(request, call) {
      const by = administrator(call, REMOVE_COMMAND, request);
      const file = parseRequest(archive, request);
      const action = { command: REMOVE_COMMAND, arguments: file };
      for await (const soFar of acting(by, action, removeAudit(by, file, call.signal)))
        yield { requestId: "", ...soFar };
    },

    listRequests: requestsHandler(actions),

    async *decideRequest(request, call) {
      const command = request.approve ? "requests approve" : "requests reject";
      const by = administrator(call, command, request);
      const given = parseRequest(decision, request);
      for await (const soFar of acting(by, { command, arguments: given }, decideRequest(by, given, call.signal)))
        yield { actionId: "", ...soFar };
    },
  };
}
