import { type ReactNode, useEffect, useId, useRef } from "react";
import { createPortal } from "react-dom";
import { usePhone } from "../phone/phone-context.tsx";

/** A dialog over one phone's screen; the other phone stays in use, so it is not modal for the page. */
export function Sheet({ title, children }: { title: string; children: ReactNode }) {
  const id = useId();
  const { surface, openSheet } = usePhone();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const phone = heading.current?.closest(".phone");
    // A dialog that an event has opened takes no focus away from the other phone.
    if (phone?.contains(before) || before === document.body) {
      heading.current?.focus({ preventScroll: true });
      // The answer's buttons are at the phone's lower edge.
      phone?.scrollIntoView({ block: "nearest" });
    }
    const close = openSheet();
    return () => {
      const isInside = phone?.contains(document.activeElement) || document.activeElement === document.body;
      close();
      // Once the screen below takes focus again.
      if (isInside) setTimeout(() => before?.focus());
    };
  }, [openSheet]);
  if (!surface) return null;
  const sheet = (
    <div className="sheet-place">
      <div className="sheet" role="dialog" aria-labelledby={id}>
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        {children}
      </div>
    </div>
  );
  return createPortal(sheet, surface);
}
