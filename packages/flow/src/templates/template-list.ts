import { MAX_COMPUTATION } from "./account-model.ts";
import { HYBRID_CUSTODY_TEMPLATE_NAMES, hybridCustodyScript } from "./hybrid-custody.ts";
import type { HybridCustodyNetwork } from "./hybrid-custody-scripts.ts";
import { KEY_TEMPLATE_NAMES, keyTemplateScript } from "./key-templates.ts";
import { PARENT_LINK_TEMPLATE_NAMES, parentLinkScript } from "./parent-links.ts";
import type { TemplateName } from "./template-effects.ts";

/** A template as data, for clients that do not use this package. */
export interface TemplateDescription {
  /** The template's name, as `readTemplate` returns it. */
  readonly name: TemplateName;
  /** The exact text: with another one the transaction runs no template. */
  readonly script: string;
  /** In the order of the arguments. */
  readonly parameters: readonly TemplateParameter[];
  /** Enough computation for the template. */
  readonly gasLimit: bigint;
}

/** A parameter of a template. */
export interface TemplateParameter {
  /** Its name in the script. */
  readonly name: string;
  /** A Cadence type: String, Bool or Address. */
  readonly type: string;
  /** The required value of the argument on this network; "" where the sender chooses. */
  readonly value: string;
}

/** The declaration of a transaction, with its parameters if it has any. */
const DECLARATION = /^transaction(?:\(([^)]*)\))? \{$/m;

function parametersOf(script: string, fixed: Readonly<Record<string, string>>): TemplateParameter[] {
  const declaration = DECLARATION.exec(script);
  if (!declaration) throw new Error("the template declares no transaction");
  return (declaration[1] ?? "").split(", ").flatMap((parameter) => {
    const [name = "", type = ""] = parameter.split(": ");
    return name === "" ? [] : [{ name, type, value: fixed[name] ?? "" }];
  });
}

/**
 * Describes every template of a network; those of HybridCustody where the network has it.
 * @example const names = describeTemplates(hybridCustody).map(({ name }) => name);
 */
export function describeTemplates(hybridCustody: HybridCustodyNetwork | undefined): TemplateDescription[] {
  const describe = (name: TemplateName, script: string, fixed: Readonly<Record<string, string>> = {}) => ({
    name,
    script,
    parameters: parametersOf(script, fixed),
    gasLimit: MAX_COMPUTATION,
  });
  const custody = hybridCustody && { factory: `0x${hybridCustody.factory}`, filter: `0x${hybridCustody.filter}` };
  return [
    ...KEY_TEMPLATE_NAMES.map((name) => describe(name, keyTemplateScript(name))),
    ...PARENT_LINK_TEMPLATE_NAMES.map((name) => describe(name, parentLinkScript(name))),
    ...(hybridCustody
      ? HYBRID_CUSTODY_TEMPLATE_NAMES.map((name) => describe(name, hybridCustodyScript(name, hybridCustody), custody))
      : []),
  ];
}
