import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { freePorts } from "./ports.ts";

it("gives no port twice", async () => {
  const asked = await Promise.all([freePorts(150), freePorts(3), freePorts(150)]);
  expect(new Set(asked.flat()).size).toBe(303);
});

it("gives no port to two processes, though nobody listens on it yet", async () => {
  const program = `import { freePorts } from ${JSON.stringify(import.meta.resolve("./ports.ts"))};
    process.send(await freePorts(500));
    process.once("message", () => process.exit());`;
  const asking = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    }),
  );
  try {
    const given = await Promise.all(asking.map(async (asked) => (await once(asked, "message"))[0] as number[]));
    expect(new Set(given.flat()).size).toBe(4 * 500);
  } finally {
    for (const asked of asking) asked.kill();
  }
});
