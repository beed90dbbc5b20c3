/** A form of a page, with the values that it would send untouched. */
export interface HtmlForm {
  action: string;
  method: "GET" | "POST";
  fields: URLSearchParams;
  /** Names of the fields that a person fills in. */
  textFields: string[];
}

const NAMED_ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * Returns the first form of a page; undefined without one. Enough HTML for the development provider's own
 * pages, no more.
 */
export function parseForm(html: string): HtmlForm | undefined {
  const match = /<form\b([^>]*)>([\s\S]*?)<\/form>/i.exec(html);
  if (!match) return undefined;
  const form = attributesOf(match[1]!);
  const fields = new URLSearchParams();
  const textFields: string[] = [];
  for (const [, text] of match[2]!.matchAll(/<input\b([^>]*)>/gi)) {
    const { name, type = "text", value = "" } = attributesOf(text!);
    if (!name || type === "submit" || type === "button") continue;
    fields.set(name, value);
    if (type === "text" || type === "email") textFields.push(name);
  }
  // A person would press the first button.
  for (const [, text] of match[2]!.matchAll(/<button\b([^>]*)>/gi)) {
    const { name, type = "submit", value = "" } = attributesOf(text!);
    if (type !== "submit") continue;
    if (name) fields.set(name, value);
    break;
  }
  return {
    action: form.action ?? "",
    method: form.method?.toUpperCase() === "POST" ? "POST" : "GET",
    fields,
    textFields,
  };
}

/** Returns the text of a page's alert; undefined without one. */
export function alertOf(html: string): string | undefined {
  const match = /<p [^>]*role="alert">([^<]*)<\/p>/.exec(html);
  return match ? decodeEntities(match[1]!) : undefined;
}

function attributesOf(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name, , double, single, bare] of text.matchAll(
    /([\w-]+)(\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g,
  )) {
    attributes[name!.toLowerCase()] = decodeEntities(double ?? single ?? bare ?? "");
  }
  return attributes;
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return NAMED_ENTITIES[name] ?? whole;
    return String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal));
  });
}
