import type { ComponentProps } from "react";

/** Props of `MatchingCode`. */
export interface MatchingCodeProps extends Omit<ComponentProps<"output">, "children"> {
  /** As `client.matchingCode` gave it. */
  code: string;
}

/**
 * Shows a matching code, one element for each character, and reads it out character by character.
 * @example return <MatchingCode code="7K3F-9Q0X" className="code" />;
 */
export function MatchingCode({ code, ...props }: MatchingCodeProps) {
  return (
    <output {...props} data-matching-code={code}>
      <span className="cs-visually-hidden" style={HIDDEN}>
        {[...code.replace("-", "")].join(" ")}
      </span>
      {[...code].map((character, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a character's place is its identity
        <span key={at} aria-hidden="true" data-kind={character === "-" ? "separator" : "character"}>
          {character}
        </span>
      ))}
    </output>
  );
}

/** Only for screen readers. */
const HIDDEN = { position: "absolute", width: 1, height: 1, overflow: "hidden", clipPath: "inset(50%)" } as const;

/**
 * Returns a typed code in the form in which it is shown: upper case, at most eight characters, with the
 * hyphen. For the value of an input.
 * @example formatMatchingCode("7k3f9q"); // => "7K3F-9Q"
 */
export function formatMatchingCode(typed: string): string {
  const plain = typed
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, "")
    .slice(0, 8);
  return plain.length > 4 ? `${plain.slice(0, 4)}-${plain.slice(4)}` : plain;
}
