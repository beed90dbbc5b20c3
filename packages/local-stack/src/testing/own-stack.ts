import { connect } from "node:net";
import { inject } from "vitest";
import type { Stack } from "../stack-file.ts";
import "./provided.ts";

/**
 * Returns the stack of the worker that runs this file; the first file that asks waits until it is up. Error:
 * why it did not start.
 */
export async function ownStack(): Promise<Stack> {
  const socket = connect(inject("stackServer")).setEncoding("utf8");
  socket.write(`${process.env.VITEST_POOL_ID}\n`);
  // The connection stays open, as a sign that the stack is in use.
  const text = await new Promise<string>((resolve, reject) => {
    let read = "";
    socket.on("data", (part: string) => {
      read += part;
      if (read.endsWith("\n")) resolve(read);
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the stack's server is gone")));
  });
  socket.unref();
  const { stack, error } = JSON.parse(text) as { stack?: Stack; error?: string };
  if (stack === undefined) throw new Error(`the stack did not start: ${error}`);
  return stack;
}
