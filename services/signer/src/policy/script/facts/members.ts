import type { Member } from "../script-facts.ts";
import { child, type SyntaxNode, text, walk } from "../syntax.ts";

/** Parts of an account that change who controls it. The name alone counts, on any receiver. */
const PRIVILEGED_PARTS = new Set(["keys", "contracts", "inbox"]);
/**
 * `issueWithType` takes a type that is made when the script runs; HybridCustody's `giveOwnership` revokes
 * every key.
 */
const FORBIDDEN_FUNCTIONS = new Set(["issueWithType", "giveOwnership"]);

/** The other members of an account: each is known to be harmless in its place. */
const ACCOUNT_MEMBERS = new Set(["storage", "capabilities", "address", "balance", "availableBalance"]);

export function members(program: SyntaxNode, accounts: ReadonlySet<string>): Member[] {
  const found: Member[] = [];
  for (const [node] of walk(program)) {
    const at = node.at ?? "";
    const name = text(node, "Identifier");
    if (node.node === "IdentifierExpression" && name === "Account") found.push({ name: "Account(…)", at });
    if (node.node !== "MemberExpression") continue;
    const receiver = child(node, "Expression");
    const receiverName = text(receiver, "Identifier");
    if (PRIVILEGED_PARTS.has(name) || FORBIDDEN_FUNCTIONS.has(name)) found.push({ name, at });
    else if (name === "account" && receiver?.node === "MemberExpression" && receiverName === "capabilities")
      found.push({ name: "capabilities.account", at });
    else if (receiver?.node === "IdentifierExpression" && accounts.has(receiverName) && !ACCOUNT_MEMBERS.has(name))
      found.push({ name, at });
  }
  return found;
}
