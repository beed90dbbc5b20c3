import { commands } from "@countersign/admin/commands/index.ts";
import { errorLines } from "@countersign/admin/output.ts";
import { type Services, withServices } from "@countersign/admin/services.ts";
import { adminEnvironment } from "@countersign/local-stack/admin-environment.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { type Command, UsageError } from "@countersign/runtime";
import { vi } from "vitest";

/** The administrators of the local stack. */
export type AdminName = "ada" | "grace";

const wordsOf = ({ usage }: Command): string[] => {
  const words = usage.split(" ");
  return words.slice(
    0,
    words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word)),
  );
};

/** A reason that is long enough. */
export const reason = "a test of the administrator's command";

/** Runs `work` with the services as an administrator calls them. */
export const asAdmin = <T>(stack: Stack, person: AdminName, work: (services: Services) => Promise<T>): Promise<T> =>
  withServices(adminEnvironment(stack, person)!, work);

/** Runs the administrator's command in this process; a reason is added where none is given. */
export async function countersign(stack: Stack, person: AdminName, ...args: string[]) {
  const known = commands.find((each) => wordsOf(each).every((word, i) => args[i] === word))!;
  const given = args.slice(wordsOf(known).length);
  if (!args.includes("--reason") && args[0] !== "completion") given.push("--reason", reason);
  let [stdout, stderr, code] = ["", "", 0];
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    stderr += text;
    return true;
  });
  try {
    const print = (line: string) => {
      stdout += `${line}\n`;
    };
    code = await known.run({ args: given, env: adminEnvironment(stack, person)!, print });
  } catch (error) {
    code = 2;
    stderr += `${error instanceof UsageError ? error.reason : ""}\n${errorLines(error).join("\n")}\n`;
  } finally {
    write.mockRestore();
  }
  return { code, stdout, stderr };
}

/** Lifts the holds of an account up to an alert: one administrator asks, another one approves. */
export async function liftHolds(stack: Stack, accountId: string, seenAlertId: string): Promise<string[]> {
  const asked = await asAdmin(stack, "ada", ({ auth }) => auth.liftHolds({ reason, accountId, seenAlertId }));
  const requestId = asked.outcome!.actionId;
  const decision = { reason, requestId, accountId, approve: true };
  const decided = await asAdmin(stack, "grace", ({ auth }) => auth.decideRequest(decision));
  return decided.outcome!.details;
}
