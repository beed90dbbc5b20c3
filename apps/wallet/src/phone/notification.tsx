import { Bell } from "lucide-react";
import { useEffect, useState } from "react";
import { type SeenEvent, useEventText } from "./activity.tsx";

const SHOWN_MS = 4_500;

/** The newest event as a banner, as a push would show it on a real phone. */
export function Notification({ newest }: { newest: SeenEvent | undefined }) {
  const textOf = useEventText();
  const [shown, setShown] = useState<SeenEvent>();
  useEffect(() => {
    setShown(newest);
    const timer = setTimeout(() => setShown(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [newest]);
  return (
    <div className="notification-place" role="status">
      {shown && (
        <div className="notification" key={shown.event.id}>
          <Bell size={16} aria-hidden />
          {textOf(shown.event)}
        </div>
      )}
    </div>
  );
}
