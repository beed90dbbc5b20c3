import { SugarHigh } from "sugar-high/core";
import { tokenize } from "sugar-high/lang/typescript";

/** Source text with its kinds of words in colours; it can be scrolled by keyboard. */
export function Code({ text, label }: { text: string; label: string }) {
  let at = 0;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (axe)
    <section className="code" tabIndex={0} aria-label={label}>
      <pre>
        <code>
          {tokenize(text, {}).map(([type, value]) => {
            at += value.length;
            return (
              <span key={at} data-token={SugarHigh.TokenTypes[type]}>
                {value}
              </span>
            );
          })}
        </code>
      </pre>
    </section>
  );
}
