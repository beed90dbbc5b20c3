import { TermKind } from "@countersign/proto/admin/v1/admin.ts";

const KINDS: readonly [TermKind, RegExp][] = [
  [TermKind.TERM_KIND_ID, /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/],
  [TermKind.TERM_KIND_IDENTITY, /^https?:\/\/\S+ .+$/],
  [TermKind.TERM_KIND_EMAIL, /^[^\s@]+@[^\s@]+$/],
  [TermKind.TERM_KIND_ADDRESS, /^([0-9a-f]{16}|0x[0-9a-f]{40})$/],
  [TermKind.TERM_KIND_KEY, /^([0-9a-f]{64}|[0-9a-f]{128})$/],
];

/** Returns a term in the form that the services know; undefined where it is none. */
export function termOf(given: string): { kind: TermKind; term: string } | undefined {
  const text = given.trim();
  const isPlain = /^[0-9a-fx-]+$/i.test(text);
  // Cadence addresses and keys are also written with 0x, uncompressed keys with 04.
  const lower = isPlain ? text.toLowerCase().replace(/^0x(?=([0-9a-f]{16}|[0-9a-f]{64,130})$)/, "") : text;
  const term = lower.replace(/^04(?=[0-9a-f]{128}$)/, "");
  const kind = KINDS.find(([, pattern]) => pattern.test(term))?.[0];
  return kind === undefined ? undefined : { kind, term };
}
