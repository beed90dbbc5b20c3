import { connect } from "node:net";
import { inject } from "vitest";
import type { Stack } from "../stack-file.ts";
import "./provided.ts";

/** The stack of the worker that runs this file; the first file to ask waits until it is up. Error: what kept it from starting. */
export async function ownStack(): Promise<Stack> {
  const socket = connect(inject("stackServer")).setEncoding("utf8");
  socket.write(`${process.env.VITEST_POOL_ID}\n`);
  let text = "";
  for await (const part of socket) text += part;
  const { stack, error } = JSON.parse(text) as { stack?: Stack; error?: string };
  if (stack === undefined) throw new Error(`the stack did not start: ${error}`);
  return stack;
}
