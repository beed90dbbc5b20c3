import { ChevronLeft } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { useTexts } from "../i18n/index.tsx";
import { usePhone } from "../phone/phone-context.tsx";

/** A screen above the tabs, with the way back. */
export function Screen({ title, children }: { title: string; children: ReactNode }) {
  const t = useTexts();
  const { back } = usePhone();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <div className="screen">
      <header className="screen-head">
        <button type="button" className="icon-button" aria-label={t.common.back} onClick={back}>
          <ChevronLeft size={22} aria-hidden />
        </button>
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
      </header>
      {children}
    </div>
  );
}
