import { expect, it } from "vitest";
import { commands } from "./index.ts";

const context = { env: {}, print: () => undefined };
const asking = commands.filter(({ usage }) => !usage.startsWith("completion"));

it.each(asking.map((each) => [each.usage, each] as const))(
  "%s: needs a reason, and calls nobody without",
  async (_, each) => {
    await expect(each.run({ ...context, args: [] })).rejects.toMatchObject({
      name: "UsageError",
      reason: expect.stringContaining("--reason is missing"),
    });
  },
);

it.each(asking.map((each) => [each.usage, each] as const))(
  "%s: knows no other person than the certificate's",
  async (_, each) => {
    for (const option of ["--by", "--person", "--as"]) {
      const args = [option, "grace", "--reason", "a ticket of today"];
      await expect(each.run({ ...context, args })).rejects.toMatchObject({ name: "UsageError" });
    }
  },
);
