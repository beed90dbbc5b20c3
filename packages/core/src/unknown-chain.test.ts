import { expect, it } from "vitest";
import { unknownChain } from "./unknown-chain.ts";

it("says which chain is unknown, and which there are", () => {
  const error = unknownChain("nowhere", new Set(["flow-testnet", "flow-emulator"]));
  expect(error).toMatchObject({
    reason: "UnknownChain",
    detail: 'No chain "nowhere"; available: "flow-emulator", "flow-testnet"',
  });
});

it("repeats at most 64 units of the name, in one line and well-formed", () => {
  const { detail } = unknownChain(`${"x".repeat(62)}\n😀${"y".repeat(10_000)}`, []);
  expect(detail).toBe(`No chain "${"x".repeat(62)}\\n\ufffd"; available: none`);
});
