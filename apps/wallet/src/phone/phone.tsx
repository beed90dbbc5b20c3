import type { CountersignClient } from "@countersign/client";
import { CountersignProvider, SignedIn, SignedOut } from "@countersign/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type KeyKind, type PhoneId, WalletDevice } from "../device.ts";
import { useTexts } from "../i18n/index.tsx";
import { PHONE_OF, usePageState } from "../page-state.tsx";
import { Loading } from "../ui/states.tsx";
import { Account } from "./account.tsx";
import { OpenAccount } from "./open-account.tsx";
import { PhoneContext, type PhoneValue, type ScreenName } from "./phone-context.tsx";
import { Recover } from "./recover.tsx";
import { Welcome } from "./welcome.tsx";

/** One phone: a device of its own, from its first key to its tabs. */
export function Phone({ id }: { id: PhoneId }) {
  const t = useTexts();
  const [device, setDevice] = useState(() => new WalletDevice(id));
  const [client, setClient] = useState<CountersignClient>();
  const [isLoading, setLoading] = useState(true);
  /** Whether the person has just asked to continue: the login begins with the new key. */
  const [begins, setBegins] = useState(false);
  const [screen, setScreen] = useState<ScreenName>();
  const [surface, setSurface] = useState<HTMLElement | null>(null);
  const [sheets, setSheets] = useState(0);
  const back = useCallback(() => setScreen(undefined), []);
  const openSheet = useCallback(() => {
    setSheets((count) => count + 1);
    return () => setSheets((count) => count - 1);
  }, []);

  const frame = useRef<HTMLElement>(null);
  const { asked } = usePageState();
  const isAsked = asked !== undefined && PHONE_OF[asked.step] === id;
  useEffect(() => {
    // Once the page shows this phone: on a narrow screen the other one may have been there.
    if (!isAsked || !asked) return;
    requestAnimationFrame(() => {
      if (!frame.current?.contains(document.activeElement)) frame.current?.focus({ preventScroll: true });
      frame.current?.scrollIntoView({ block: "nearest" });
    });
  }, [isAsked, asked]);

  useEffect(() => {
    setLoading(true);
    void device
      .open(undefined)
      .then(setClient)
      .finally(() => setLoading(false));
  }, [device]);

  const value = useMemo<PhoneValue>(
    () => ({
      id,
      device,
      screen,
      open: setScreen,
      back,
      surface,
      openSheet,
      async createKey(kind: KeyKind) {
        const opened = await device.open(kind);
        if (!opened) throw new Error("the phone has no key");
        setClient(opened);
        return opened;
      },
      wipe() {
        setClient(undefined);
        setScreen(undefined);
        setBegins(false);
        setDevice(device.wiped());
      },
    }),
    [id, device, screen, back, surface, openSheet],
  );
  const begin = async (kind: KeyKind) => {
    setBegins(true);
    await value.createKey(kind);
  };

  return (
    <section className="phone" data-phone={id} aria-label={t.page.phones[id]} tabIndex={-1} ref={frame}>
      {isAsked && <span className="phone-ring" key={asked.at} aria-hidden />}
      <PhoneContext.Provider value={value}>
        <div className="phone-screen" inert={sheets > 0}>
          <p className="phone-head">
            <strong>{t.page.phones[id]}</strong>
            {client && (
              <CountersignProvider client={client}>
                <SignedIn>
                  <span>{device.note("email")}</span>
                </SignedIn>
              </CountersignProvider>
            )}
          </p>
          {isLoading ? (
            <div className="screen">
              <Loading rows={5} />
            </div>
          ) : screen?.name === "recover" ? (
            <Recover />
          ) : client ? (
            <CountersignProvider key={device.namespace} client={client}>
              <SignedOut>
                <OpenAccount begins={begins} onBegun={() => setBegins(false)} />
              </SignedOut>
              <SignedIn>
                <Account />
              </SignedIn>
            </CountersignProvider>
          ) : (
            <Welcome onContinue={begin} />
          )}
        </div>
        <div className="phone-surface" ref={setSurface} />
      </PhoneContext.Provider>
    </section>
  );
}
