import { child, children, type SyntaxNode } from "../syntax.ts";
import { type Imported, ownName } from "./imports.ts";

/**
 * Returns the entitlements of a reference type, in either form of set. Anything but a plain set gets a name
 * that no list contains.
 */
export function entitlementsOf(reference: SyntaxNode, imports: readonly Imported[]): string[] {
  const authorization = child(reference, "Authorization");
  if (reference.LegacyAuthorized === true && !authorization) return ["auth without entitlements"];
  if (!authorization) return [];
  if (!["ConjunctiveEntitlementSet", "DisjunctiveEntitlementSet"].includes(authorization.node))
    return [authorization.node];
  return children(authorization, "Elements").map((element) => ownName(element, imports));
}
