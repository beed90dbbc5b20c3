import { child, type SyntaxNode, text } from "../syntax.ts";
import { prepareNodes } from "./declarations.ts";
import { entitlementsOf } from "./entitlements.ts";
import type { Imported } from "./imports.ts";

/** A parameter of prepare: one authorizer's account, and the rights that the script asks for. */
export interface PrepareParameter {
  readonly name: string;
  /** Whether it is a reference to Account, as Cadence wants it. */
  readonly isAccount: boolean;
  readonly entitlements: readonly string[];
  readonly at: string;
}

export const prepareParameters = (program: SyntaxNode, imports: readonly Imported[]): PrepareParameter[] =>
  prepareNodes(program).map((parameter) => {
    const type = child(child(parameter, "TypeAnnotation"), "Type", "ReferenceType");
    const referenced = child(type, "Type", "NominalType");
    return {
      name: text(parameter, "Identifier"),
      isAccount: text(referenced, "Identifier") === "Account" && referenced?.NestedIdentifiers === undefined,
      entitlements: type ? entitlementsOf(type, imports) : [],
      at: parameter.at ?? "",
    };
  });
