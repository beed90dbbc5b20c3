import { describe, expect, it } from "vitest";
import type { SyntaxNode } from "../syntax.ts";
import { controllerUses } from "./controllers.ts";

/** How often a name of the tree was read: what the work is measured by, on any machine. */
let reads = 0;
const named = (node: string, name: string, more: object = {}): SyntaxNode =>
  Object.defineProperty({ node, ...more }, "Identifier", {
    enumerable: true,
    get() {
      reads += 1;
      return name;
    },
  }) as SyntaxNode;

const getter = {
  node: "InvocationExpression",
  InvokedExpression: named("MemberExpression", "getControllers", { Expression: named("IdentifierExpression", "a") }),
};

/** `let n3 = n2; let n2 = n1; let n1 = <controllers>`: each name is bound only after it was used. */
function chain(length: number): SyntaxNode {
  const declarations = Array.from({ length }, (_, i) => {
    const at = length - i;
    const Value = at === 1 ? getter : named("IdentifierExpression", `n${at - 1}`);
    return named("VariableDeclaration", `n${at}`, { Value });
  });
  const last = { node: "InvocationExpression", Arguments: [named("IdentifierExpression", `n${length}`)] };
  return { node: "Program", Declarations: [last, ...declarations] };
}

const work = (length: number): number => {
  reads = 0;
  expect(controllerUses(chain(length), new Set(["a"]), [])).toHaveLength(1);
  return reads;
};

describe("controllers that are bound to names", () => {
  it("are found however long the chain of names is, in any order", () => {
    for (const length of [1, 2, 10]) work(length);
  });

  it("take work in proportion to the script, not to its square", () => {
    expect(work(2_000) / work(1_000)).toBeLessThan(2.1);
  });
});
