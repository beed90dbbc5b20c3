import { expect, test } from "vitest";
import { citus } from "./command.ts";

test.each([
  [["nonsense"], "unknown command nonsense"],
  [["toString"], "unknown command toString"],
  [[], ""],
])("%j is a wrong usage", async (args, reason) => {
  const message = expect.stringMatching(/^citus -- build \| .*kill-node$/);
  await expect(citus(args)).rejects.toMatchObject({ name: "UsageError", message, reason });
});

test.each(["build", "start", "race", "seed", "latency", "kill-node"])(
  "an unknown option of %s is one as well",
  async (name) => {
    const reason = expect.stringContaining("Unknown option '--nonsense'");
    await expect(citus([name, "--nonsense"])).rejects.toMatchObject({
      name: "UsageError",
      message: `citus -- ${name}`,
      reason,
    });
  },
);
